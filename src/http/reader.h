/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From bytes to one request, whatever pieces they come in: http1 reads them, and here is what the
 * server adds, the head kept, its target, its headers, its body. Knows no sockets: the fuzzer feeds
 * it the same way as a connection does.
 */
#ifndef BRIG_HTTP_READER_H
#define BRIG_HTTP_READER_H

#include <stddef.h>

#include "base/buf.h"
#include "http/body.h"
#include "http/headers.h"
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
	const char *method; /* of the table of methods */
	char *target;       /* in the head; when the head is done */
	char *path;         /* owned */
	size_t query_at;    /* in the target; 0: none */
	struct headers headers;

	size_t body_limit;
	const char *limit_name; /* NULL: it has none, and cannot be changed */
	char text[160];         /* `why`, when it has numbers */
	struct body body;
};

/* It keeps pointers into itself: it must not move. All limits are set. */
void reader_init(struct http_reader *reader, const struct http_limits *limits,
		 struct body_pool *pool);
void reader_done(struct http_reader *reader);

/* How many bytes it took: up to the end of the head, or of the request, or to what is wrong. */
size_t reader_feed(struct http_reader *reader, const char *data, size_t size);
/*
 * After READER_HEAD_DONE: the body, of up to `limit` bytes; done at once if there is none. `name`:
 * of the limit, for whoever exceeds it; or NULL.
 */
void reader_go_on(struct http_reader *reader, size_t limit, const char *name);
/* How many bytes it can take without one of the next request; `most` when it cannot know. */
size_t reader_wants(const struct http_reader *reader, size_t most);
#endif
