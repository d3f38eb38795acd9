/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Framing from the fields of a message: its host, the end of its body, whether the connection stays
 * open.
 */
#include <assert.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "http1/characters.h"
#include "http1/states.h"

#define LENGTH_DIGITS_MAX 18 /* numbers of so many digits always fit */

struct framing_scan {
	struct http1_reader *reader;
	struct http1_framing *framing;
	unsigned seen;           /* bits of `known` */
	bool close, keep, names; /* of Connection: "close", "keep-alive", "upgrade" */
	bool upgrade;            /* the field */
};

static bool is_request(const struct framing_scan *scan)
{
	return scan->reader->rules->kind == HTTP1_REQUEST;
}

static enum http1_error read_host(struct framing_scan *scan, const struct http1_text *value)
{
	return !is_request(scan) || http1_is_host(value) ? HTTP1_FINE : HTTP1_BAD_HOST;
}

static enum http1_error read_length(struct framing_scan *scan, const struct http1_text *value)
{
	uint64_t length = 0;

	if (value->size == 0 || value->size > LENGTH_DIGITS_MAX) {
		return HTTP1_BAD_LENGTH;
	}
	for (size_t i = 0; i < value->size; i++) {
		if (!character_is_digit((unsigned char)value->at[i])) {
			return HTTP1_BAD_LENGTH;
		}
		length = length * 10 + (unsigned)(value->at[i] - '0');
	}
	scan->framing->has_length = true;
	scan->framing->length = length;
	return HTTP1_FINE;
}

static enum http1_error read_encoding(struct framing_scan *scan, const struct http1_text *value)
{
	scan->framing->chunked = true;
	if (scan->reader->line.minor == 0) {
		return HTTP1_OLD_ENCODING;
	}
	return http1_text_is(value, "chunked") ? HTTP1_FINE : HTTP1_BAD_ENCODING;
}

static void read_option(struct framing_scan *scan, const struct http1_text *word)
{
	scan->close = scan->close || http1_text_is(word, "close");
	scan->keep = scan->keep || http1_text_is(word, "keep-alive");
	scan->names = scan->names || http1_text_is(word, "upgrade");
}

static enum http1_error read_connection(struct framing_scan *scan, const struct http1_text *value)
{
	struct http1_text rest = *value, word;

	while (http1_next_word(&rest, &word)) {
		read_option(scan, &word);
	}
	return HTTP1_FINE;
}

static enum http1_error read_upgrade(struct framing_scan *scan, const struct http1_text *value)
{
	scan->upgrade = scan->upgrade || value->size > 0;
	return HTTP1_FINE;
}

static enum http1_error read_expectation(struct framing_scan *scan, const struct http1_text *value)
{
	if (is_request(scan) && scan->reader->line.minor == 1) {
		scan->framing->expects_continue = http1_text_is(value, "100-continue");
		scan->framing->expects_other = !scan->framing->expects_continue;
	}
	return HTTP1_FINE;
}

enum known_field { KNOWN_HOST, KNOWN_LENGTH, KNOWN_ENCODING, KNOWN_EXPECT, KNOWN_LISTS };

#define NAMED(text)                                                                                \
	{                                                                                          \
		(text), sizeof(text) - 1                                                           \
	}

static const struct {
	struct http1_text name;
	enum http1_error (*read)(struct framing_scan *, const struct http1_text *);
	bool no_tabs;
} known[] = {
	[KNOWN_HOST] = { NAMED("Host"), read_host, false },
	[KNOWN_LENGTH] = { NAMED("Content-Length"), read_length, true },
	[KNOWN_ENCODING] = { NAMED("Transfer-Encoding"), read_encoding, true },
	[KNOWN_EXPECT] = { NAMED("Expect"), read_expectation, false },
	/* From here on they are lists, and may be repeated. */
	[KNOWN_LISTS] = { NAMED("Connection"), read_connection, true },
	{ NAMED("Upgrade"), read_upgrade, false },
};

static bool is_named(const struct http1_field *field, const struct http1_text *name)
{
	return field->name.size == name->size &&
	       strncasecmp(field->name.at, name->at, name->size) == 0;
}

/* Parsers differ on tabs around these: some take "chunked" and a tab for another word. */
static bool has_tab(const struct http1_field *field)
{
	const char *colon = field->name.at + field->name.size;

	return memchr(colon, '\t', (size_t)((const char *)rawmemchr(colon, '\r') - colon)) != NULL;
}

static enum http1_error read_field(struct framing_scan *scan, const struct http1_field *field)
{
	for (unsigned i = 0; i < ARRAY_SIZE(known); i++) {
		if (!is_named(field, &known[i].name)) {
			continue;
		}
		if (i < KNOWN_LISTS && scan->seen & 1u << i) {
			return HTTP1_REPEATED;
		}
		scan->seen |= 1u << i;
		if (known[i].no_tabs && has_tab(field)) {
			return HTTP1_BAD_VALUE;
		}
		return known[i].read(scan, &field->value);
	}
	return HTTP1_FINE;
}

/* Some parsers take a length as valid where there can be no body. */
static bool has_wrong_body(const struct framing_scan *scan)
{
	unsigned status = scan->reader->line.status;

	return !is_request(scan) && (status < 200 || status == 204) &&
	       (scan->framing->chunked || scan->framing->length > 0);
}

static enum http1_error conclude(struct framing_scan *scan)
{
	struct http1_framing *framing = scan->framing;
	unsigned minor = scan->reader->line.minor;

	if (is_request(scan) && minor == 1 && !(scan->seen & 1u << KNOWN_HOST)) {
		return HTTP1_NO_HOST;
	}
	if (framing->chunked && framing->has_length) {
		return HTTP1_LENGTH_AND_ENCODING;
	}
	framing->upgrade = scan->upgrade && scan->names;
	framing->keep_alive = !scan->close && (minor == 1 || scan->keep) &&
			      (is_request(scan) || !http1_is_until_close(scan->reader));
	return has_wrong_body(scan) ? HTTP1_BODY_NOT_ALLOWED : HTTP1_FINE;
}

bool http1_read_fields(struct http1_reader *reader, const char *head)
{
	struct framing_scan scan = { .reader = reader, .framing = &reader->framing };
	struct http1_field field;
	size_t at = reader->fields_at;
	enum http1_error error = HTTP1_FINE;

	assert(reader->state == HTTP1_HEAD_DONE);
	while (!error && http1_next_field(head, &at, &field)) {
		error = read_field(&scan, &field);
	}
	error = error ? error : conclude(&scan);
	if (error) {
		http1_fail(reader, error);
	}
	return !error;
}
