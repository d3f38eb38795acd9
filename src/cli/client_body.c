/* SPDX-License-Identifier: Apache-2.0 */
/* Counted and chunked bodies. */
#include "cli/client_body.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_BYTES 256

static int take_counted(struct client_body *body, const char *data, size_t size)
{
	size_t now = body->counted && size > body->left ? (size_t)body->left : size;

	body->left -= body->counted ? now : 0;
	return now > 0 ? body->take(body->user, data, now) : 0;
}

/* Up to the end of a line: how many bytes; the line is complete when the last was its newline. */
static size_t take_line(struct client_body *body, const char *data, size_t size)
{
	const char *end = memchr(data, '\n', size);
	size_t used = end ? (size_t)(end - data) + 1 : size;

	buf_add(&body->line, data, used);
	return used;
}

static int end_line(struct client_body *body)
{
	char *end = NULL;

	if (body->line.size == 0 || body->line.data[body->line.size - 1] != '\n') {
		return body->line.size > LINE_MAX_BYTES ? -EPROTO : 0;
	}
	if (body->place == CHUNK_NEWLINE) {
		body->place = CHUNK_SIZE;
	} else if (body->place == CHUNK_LAST) {
		body->place = body->line.size <= 2 ? CHUNK_END : CHUNK_LAST;
	} else {
		body->left = strtoull(body->line.data, &end, 16);
		if (end == body->line.data) {
			return -EPROTO;
		}
		body->place = body->left ? CHUNK_DATA : CHUNK_LAST;
	}
	buf_done(&body->line);
	body->line = (struct buf){ 0 };
	return 0;
}

int client_body_take(struct client_body *body, const char *data, size_t size)
{
	int r = 0;

	if (!body->chunked) {
		return take_counted(body, data, size);
	}
	while (r == 0 && size > 0 && body->place != CHUNK_END) {
		size_t used;

		if (body->place == CHUNK_DATA) {
			used = size > body->left ? (size_t)body->left : size;
			r = body->take(body->user, data, used);
			body->left -= used;
			body->place = body->left ? CHUNK_DATA : CHUNK_NEWLINE;
		} else {
			used = take_line(body, data, size);
			r = end_line(body);
		}
		data += used;
		size -= used;
	}
	return r;
}

bool client_body_ended(const struct client_body *body)
{
	return body->chunked ? body->place == CHUNK_END : body->counted && body->left == 0;
}

bool client_body_complete(const struct client_body *body)
{
	return client_body_ended(body) || (!body->chunked && !body->counted);
}
