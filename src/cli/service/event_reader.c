/* SPDX-License-Identifier: Apache-2.0 */
/* Parses events from bytes: see event_reader.h. */
#include "cli/service/event_reader.h"

#include <errno.h>
#include <sodium/utils.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/service/client.h"

#define EVENT_BYTES_MAX ((size_t)128 << 20)

/* One event: lines "event: NAME" and "data: JSON". */
static int take_event(struct event_reader *reader, char *text)
{
	char *name = NULL, *data = NULL, *state = NULL;

	for (char *l = strtok_r(text, "\n", &state); l; l = strtok_r(NULL, "\n", &state)) {
		name = strncmp(l, "event: ", 7) == 0 ? l + 7 : name;
		data = strncmp(l, "data: ", 6) == 0 ? l + 6 : data;
	}
	/* Programs may write NUL like any other byte. */
	json_t *value = name && data ? json_loads(data, JSON_ALLOW_NUL, NULL) : NULL;
	if (!value) {
		return 0;
	}
	int r = reader->take(reader->user, name, value, data);
	json_decref(value);
	return r;
}

int event_reader_take(void *user, const char *data, size_t size)
{
	struct event_reader *reader = user;
	struct buf *text = &reader->text;
	/* The end of an event may be split: its first byte may be here already. */
	size_t from = text->size ? text->size - 1 : 0;
	size_t used = 0;
	char *end;
	int r = 0;

	buf_add(text, data, size);
	if (text->failed || text->size > EVENT_BYTES_MAX) {
		return -ENOMEM;
	}
	while (r == 0 && text->data && (end = strstr(text->data + from, "\n\n"))) {
		*end = '\0';
		r = take_event(reader, text->data + used);
		from = used = (size_t)(end - text->data) + 2;
	}
	/* An incomplete event stays in the buffer, however long. */
	if (used > 0 && text->data) {
		memmove(text->data, text->data + used, text->size - used + 1);
		text->size -= used;
	}
	return r;
}

void event_reader_done(struct event_reader *reader)
{
	buf_done(&reader->text);
}

int event_output(json_t *data, struct buf *ret, int *ret_fd)
{
	json_t *text = json_object_get(data, "data");
	json_t *base64 = json_object_get(data, "data_base64");
	size_t size = json_string_length(base64);

	*ret_fd =
		strcmp(client_text(data, "stream"), "stderr") == 0 ? STDERR_FILENO : STDOUT_FILENO;
	if (text) {
		buf_add(ret, json_string_value(text), json_string_length(text));
		return ret->failed ? -ENOMEM : 0;
	}
	_cleanup_free_ unsigned char *bytes = base64 ? malloc(size + 1) : NULL;
	if (!bytes || sodium_base642bin(bytes, size + 1, json_string_value(base64), size, NULL,
					&size, NULL, sodium_base64_VARIANT_ORIGINAL) != 0) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): knows no cleanup attributes */
		return -EPROTO;
	}
	buf_add(ret, (const char *)bytes, size);
	return ret->failed ? -ENOMEM : 0;
}
