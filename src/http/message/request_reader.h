/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From bytes to one request, in pieces of any size. http1 parses them; this adds the server's part:
 * keeping the head, its target, its headers, its body. It uses no sockets: the fuzzer feeds it the
 * same way as a connection does.
 */
#ifndef BRIG_HTTP_MESSAGE_REQUEST_READER_H
#define BRIG_HTTP_MESSAGE_REQUEST_READER_H

#include <stddef.h>

#include "base/bytes/buf.h"
#include "http/message/body.h"
#include "http/message/headers.h"
#include "http1/http1.h"

enum reader_state {
	READER_HEAD,
	READER_HEAD_DONE, /* waits for reader_go_on() */
	READER_BODY,
	READER_DONE,
	READER_REFUSED, /* status and why */
};

struct http_reader {
	enum reader_state state;
	int status;
	const char *why;

	struct http1_rules rules;
	struct http1_reader http1;
	struct buf head;
	const char *method; /* from the table of methods */
	char *target;       /* in the head; set when the head is complete */
	char *path;         /* owned */
	size_t query_at;    /* in the target; 0: none */
	struct headers headers;

	size_t body_limit;
	const char *limit_name; /* NULL: it has none, and cannot be configured */
	char text[160];         /* `why`, when it contains numbers */
	struct body body;
};

/* It has pointers into itself, so it must not be moved. All limits must be set. */
void reader_init(struct http_reader *reader, const struct http_limits *limits,
		 struct body_pool *pool);
void reader_done(struct http_reader *reader);

/* How many bytes were used: up to the end of the head, or of the request, or to an error. */
size_t reader_feed(struct http_reader *reader, const char *data, size_t size);
/*
 * After READER_HEAD_DONE: reads the body, of up to `limit` bytes; done at once if there is none.
 * `name`: of the limit, for the refusal; or NULL.
 */
void reader_go_on(struct http_reader *reader, size_t limit, const char *name);
/* How many bytes it can take without a byte of the next request; `most` when that is not known. */
size_t reader_wants(const struct http_reader *reader, size_t most);
#endif
