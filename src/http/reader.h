/*
 * From bytes to one request, whatever pieces they come in. Knows no sockets: the fuzzer feeds it
 * the same way as a connection does.
 */
#ifndef BRIG_HTTP_READER_H
#define BRIG_HTTP_READER_H

#include <stddef.h>

#include "base/buf.h"
#include "http/body.h"
#include "http/chunk_guard.h"
#include "http/framing.h"
#include "http/head_guard.h"
#include "http/headers.h"
#include "http/opinion.h"
#include "http/request_line.h"

enum reader_state {
	READER_HEAD,
	READER_HEAD_DONE, /* waits for reader_go_on() */
	READER_BODY,
	READER_DONE,
	READER_REFUSED, /* status and why */
};

struct reader {
	const struct http_limits *limits;
	enum reader_state state;
	int status;
	const char *why;

	struct head_guard head_guard;
	struct buf head;
	struct request_line line;
	char *target;    /* in the head; when the head is done */
	char *path;      /* owned */
	size_t query_at; /* in the target; 0: none */
	struct headers headers;
	struct framing framing;

	struct opinion opinion;
	struct chunk_guard chunk_guard;
	size_t body_limit;
	size_t body_came; /* bytes of the body as they came, framing included */
	struct body body;
};

/* It keeps pointers into itself: it must not move. All limits are set. */
void reader_init(struct reader *reader, const struct http_limits *limits, struct body_pool *pool);
void reader_done(struct reader *reader);

/* How many bytes it took: up to the end of the head, or of the request, or to what is wrong. */
size_t reader_feed(struct reader *reader, const char *data, size_t size);
/* After READER_HEAD_DONE: the body, of up to `limit` bytes; done at once if there is none. */
void reader_go_on(struct reader *reader, size_t limit);
/* How many bytes it can take without one of the next request; `most` when it cannot know. */
size_t reader_wants(const struct reader *reader, size_t most);
#endif
