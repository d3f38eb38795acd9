/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The head of an answer. For any headers that a handler sets, the result is one valid head: names
 * are tokens, values have no control characters, and only this layer writes the headers that frame
 * the message.
 */
#ifndef BRIG_HTTP_ANSWER_H
#define BRIG_HTTP_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "base/bytes/buf.h"

#define ANSWER_HEADERS_MAX 16384

/* How the client recognizes the end of the answer. */
enum answer_end {
	ANSWER_LENGTH,
	ANSWER_CHUNKED,
	ANSWER_CLOSE, /* a stream for HTTP/1.0 */
};

struct answer_form {
	int status;
	const char *content_type; /* NULL: none */
	enum answer_end end;
	size_t length;
	bool close;
	bool say_keep_alive; /* for HTTP/1.0, where it is not the default */
};

/* Adds a line to `headers`. -EINVAL, -E2BIG, -ENOMEM: nothing was added. */
int answer_add(struct buf *headers, const char *name, const char *value);
/* Writes the whole head. Check out->failed. */
void answer_head(struct buf *out, const struct answer_form *form, const struct buf *headers);
/* 1xx, 204 and 304 have none. */
bool answer_has_body(int status);
/* "Not Found" */
const char *answer_reason(int status);
/* "Sun, 06 Nov 1994 08:49:37 GMT" */
void answer_date(time_t when, char ret[32]);
#endif
