/* SPDX-License-Identifier: Apache-2.0 */
/* The headers of a head: see headers.h. */
#include "http/message/headers.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/bytes/utf8.h"
#include "base/cleanup.h"
#include "http1/http1.h"

/* Headers that may occur several times: they are one list. All others have one value or none. */
static const char *const lists[] = {
	"Accept",
	"Accept-Charset",
	"Accept-Encoding",
	"Accept-Language",
	"Baggage",
	"Cache-Control",
	"Connection",
	"Forwarded",
	"If-Match",
	"If-None-Match",
	"Pragma",
	"Prefer",
	"TE",
	"Tracestate",
	"Upgrade",
	"Via",
	"X-Forwarded-For",
};

void headers_done(struct headers *headers)
{
	free(headers->list);
	free(headers->joined);
	*headers = (struct headers){ 0 };
}

static bool is_list(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		if (strcasecmp(lists[i], name) == 0) {
			return true;
		}
	}
	return false;
}

static bool is_utf8(const char *text)
{
	for (size_t left = strlen(text), used = 0; left > 0; left -= used, text += used) {
		uint32_t c = 0;
		if (!utf8_decode(text, left, &used, &c) || (c >= 0x80 && c < 0xa0)) {
			return false;
		}
	}
	return true;
}

static char *cut(char *head, const struct http1_text *text)
{
	char *at = head + (text->at - head);

	at[text->size] = '\0';
	return at;
}

/*
 * Joins the values after list[first] with the same name to it; returns where the next text may go.
 */
static char *join_list(struct headers *headers, size_t first, char *out)
{
	struct http_header *header = &headers->list[first];
	char *start = out;
	size_t kept = first + 1;

	out = stpcpy(out, header->value);
	for (size_t i = first + 1; i < headers->count; i++) {
		if (strcasecmp(headers->list[i].name, header->name) != 0) {
			headers->list[kept++] = headers->list[i];
			continue;
		}
		/* An empty line adds nothing to a list. */
		if (*headers->list[i].value) {
			out = stpcpy(stpcpy(out, out > start ? ", " : ""), headers->list[i].value);
		}
	}
	header->value = start;
	headers->count = kept;
	return out + 1;
}

static bool comes_again(const struct headers *headers, size_t first)
{
	return headers_find(headers->list + first + 1, headers->count - first - 1,
			    headers->list[first].name) != NULL;
}

static int join_lists(struct headers *headers, size_t text_size, const char **why)
{
	char *out = NULL;

	for (size_t i = 0; i < headers->count; i++) {
		if (!comes_again(headers, i)) {
			continue;
		}
		if (!is_list(headers->list[i].name)) {
			*why = "a header that may have only one value was sent twice";
			return 400;
		}
		if (!out) {
			/* Each line adds its value once, and at most two bytes between them. */
			headers->joined = malloc(text_size + 3 * headers->count);
			if (!headers->joined) {
				*why = "out of memory";
				return 503;
			}
			out = headers->joined;
		}
		out = join_list(headers, i, out);
	}
	return 0;
}

int headers_read(struct headers *headers, char *head, size_t at, unsigned count, const char **why)
{
	size_t text_size = strlen(head + at);
	struct http1_field field;

	headers->list = calloc(count + 1, sizeof(*headers->list));
	if (!headers->list) {
		*why = "out of memory";
		return 503;
	}
	headers->count = 0;
	while (headers->count < count && http1_next_field(head, &at, &field)) {
		struct http_header *header = &headers->list[headers->count++];
		header->name = cut(head, &field.name);
		header->value = cut(head, &field.value);
		if (!is_utf8(header->value)) {
			*why = "a header's value is not UTF-8";
			return 400;
		}
	}
	return join_lists(headers, text_size, why);
}

const char *headers_find(const struct http_header *list, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (strcasecmp(list[i].name, name) == 0) {
			return list[i].value;
		}
	}
	return NULL;
}
