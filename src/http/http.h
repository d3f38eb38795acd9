/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1.1 for the front: strict, bounded, without threads. Knows connections, heads, bodies and
 * answers; knows nothing of what they mean.
 */
#ifndef BRIG_HTTP_HTTP_H
#define BRIG_HTTP_HTTP_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/rope.h"
#include "loop/loop.h"

/*
 * 0: what limits.c says. All sizes that a client chooses are here, also those that the handler
 * looks at: each has the name of its key in the configuration, and who exceeds it is told that
 * name.
 */
struct http_limits {
	size_t head_bytes;   /* request line and headers together: 431, 414 */
	unsigned headers;    /* 431 */
	size_t body_bytes;   /* of whatever body: 413 */
	size_t bodies_bytes; /* bodies of all connections together: 503 */

	size_t json_bytes;          /* of a JSON body: 413 */
	size_t file_bytes;          /* of a file that is a body: 413 */
	size_t tenant_body_bytes;   /* bodies of one tenant, until they are answered: 429 */
	size_t tenant_answer_bytes; /* one tenant's answers that wait to be taken: 429 */
	size_t queued_bytes;        /* requests that were accepted and have not begun: 429 */
	size_t tenant_queued_bytes; /* of one tenant: 429 */

	unsigned connections; /* (12000); more are closed at accept, the longest idle first */
	/* of one unix uid or one address (7/8 of all): its own idle ones go first, then 503 */
	unsigned connections_per_peer;
	uint64_t head_ns;  /* from the first byte to the end of the head (10 s): 408; before it
			    * for the transport to begin: closed */
	uint64_t body_ns;  /* for the whole body, and at least 1 KiB/s (60 s): 408 */
	uint64_t idle_ns;  /* between requests (75 s): closed */
	uint64_t write_ns; /* without the peer taking 1 KiB/s of what waits (30 s): closed */
};

struct http_header {
	const char *name;  /* as sent; compare with http_header_find */
	const char *value; /* trimmed; of a list that came in several lines: all, joined by ", " */
};

struct http_peer {
	bool local; /* a unix socket: uid is who is at the other end */
	uid_t uid;
	char address[64]; /* of a TCP peer, without port */
};

/*
 * What is held for one of those who ask, by whatever connections. The owner sets the limits (0:
 * none) and keeps it as long as the server; the rest is counted here.
 */
struct http_budget {
	size_t bodies, bodies_max;   /* of requests, from their first byte to the answer: 429 */
	size_t answers, answers_max; /* that wait to be taken: 429 instead of one more */
};

/*
 * Where a long body goes as it comes, instead of being held: the handler's. It is freed with the
 * exchange.
 */
#define HTTP_BODY_HELD_MAX (256u << 10)
struct http_sink {
	/* All bytes, in their order. 0, or -errno: the request is refused with 503. */
	int (*take)(struct http_sink *sink, const char *data, size_t size);
	/* Bytes that it keeps, which may be more than came. */
	size_t (*held)(const struct http_sink *sink);
	void (*free)(struct http_sink *sink);
};

/* One request and its answer. */
struct http_exchange {
	/* the request, complete; all strings are the exchange's */
	const char *method; /* GET HEAD POST PUT PATCH DELETE OPTIONS */
	const char *target; /* as sent */
	const char *path;   /* decoded UTF-8, no control character, no "." or "..", no empty part
			     * but the last; an encoded "/" was refused */
	const char *query;  /* as sent (its escapes are right), without "?"; or NULL */
	const struct http_header *headers; /* "Host" is missing in HTTP/1.0 at most */
	size_t headers_count;
	const char *body; /* a NUL follows it; NULL when there is none, or the sink has it */
	size_t body_size;
	struct http_sink *sink; /* set in `admit`: for a body of more than HTTP_BODY_HELD_MAX */
	const char *limit;      /* set in `admit`: what the limit is called that it says; or NULL */
	struct http_peer peer;
	struct http_budget *budget; /* the handler's, set in `admit` or `handle`; or NULL */

	/*
	 * The handler's, set in `admit` or `handle`. Called when the client is gone before the
	 * answer is complete; the exchange ends with it. Without it an exchange stays until it is
	 * answered, and the answer goes nowhere.
	 *
	 * A TCP client that has closed its sending side counts as gone: nothing tells it from one
	 * that has closed. Over a unix socket only the latter does.
	 */
	void (*gone)(void *user);
	/* called when a streamed answer may be written to again */
	void (*drained)(void *user);
	void *user;
};

/*
 * So many bytes are held for somebody's answer outside of this layer. False: the budget (which may
 * be NULL) has no room for them, and nothing is counted. What was counted is to be given back.
 */
bool http_budget_take(struct http_budget *budget, size_t size);
void http_budget_give(struct http_budget *budget, size_t size);

/* NULL: not there. A header that came twice (and is not a list) was refused before. */
const char *http_header_find(const struct http_exchange *exchange, const char *name);

/*
 * More headers for the answer; before respond or stream. -EINVAL: a name that is none, a value with
 * control characters, or a header that this layer writes itself (Content-Length, Connection, ...).
 */
int http_answer_header(struct http_exchange *exchange, const char *name, const char *value);
/* The whole answer. The exchange is gone afterwards (its memory too), unless in the handler. */
void http_respond(struct http_exchange *exchange, int status, const char *content_type,
		  const void *body, size_t size);
/* The same with a text in parts, which is taken over and sent in slices. */
void http_respond_rope(struct http_exchange *exchange, int status, const char *content_type,
		       struct rope *body);
/*
 * No answer, or no more of it: the connection ends, so that nobody takes what was sent for all.
 * The exchange is gone afterwards, and `gone` is not called.
 */
void http_cut(struct http_exchange *exchange);
/* Has a part of the answer been sent? */
bool http_streaming(const struct http_exchange *exchange);
/* An answer in parts (chunked; SSE). */
void http_stream_begin(struct http_exchange *exchange, int status, const char *content_type);
/*
 * How much waits to be taken by the client; above 256 KiB hold back until `drained`. Whoever lets
 * 16 MiB wait loses the client. SIZE_MAX: the client is lost, `gone` will be called.
 */
size_t http_stream_write(struct http_exchange *exchange, const void *data, size_t size);
/* Like http_respond: the exchange is gone afterwards. */
void http_stream_end(struct http_exchange *exchange);

/*
 * Another way over a TCP connection than in clear. Sockets do not block; a function that cannot go
 * on says what it waits for, and is called again when that has come.
 */
#define HTTP_WANTS_INPUT  (-EAGAIN)
#define HTTP_WANTS_OUTPUT (-EINPROGRESS)
/*
 * Room that `receive` is always given. It may keep no byte back that fits: the loop watches the
 * socket alone, and would not know of it.
 */
#define HTTP_TRANSPORT_BYTES 16384

struct http_transport {
	/* The socket stays the caller's. NULL: out of memory. */
	void *(*open)(void *user, int fd);
	/*
	 * Before anything else, until it is 0. -EPROTOTYPE: the peer speaks HTTP in clear. Any
	 * other: no connection; what the peer has to know of it was sent.
	 */
	int (*begin)(void *state);
	/* Bytes, 0 at the end, or -errno. */
	ssize_t (*receive)(void *state, void *data, size_t size);
	/*
	 * How many bytes were taken (0: none now), or -errno. What was not taken is given again,
	 * perhaps with more behind it.
	 */
	ssize_t (*send)(void *state, const struct iovec *parts, size_t count);
	/* Tells the peer that nothing more comes. 0 or HTTP_WANTS_OUTPUT. */
	int (*end)(void *state);
	/* Tells the peer nothing: it can see that it was cut off, unless `end` was said. */
	void (*free)(void *state);
	void *user;
};

struct http_server;

struct http_server_options {
	struct http_limits limits;
	const struct http_transport *tcp; /* for TCP; stays the caller's; NULL: in clear */
	/* Called with a complete request. Must answer, now or later. */
	void (*handle)(void *user, struct http_exchange *exchange);
	/*
	 * Called for every request when the head is there and the body is not: 0 to go on, or a
	 * status (401, 403, 404, 413, 415) to refuse with; `ret_limit` may be lowered. May be NULL.
	 * So that nobody without a token can make us keep a body. It may set answer headers, and it
	 * may http_respond() itself, which is a refusal too. What it refuses ends the connection.
	 */
	int (*admit)(void *user, struct http_exchange *exchange, size_t *ret_limit);
	/* The body for an error of the HTTP layer itself (problem+json); buf is to be free()d. */
	char *(*problem)(void *user, int status, const char *why);
	void *user;
};

struct http_counts {
	uint64_t connections, accepted, requests, malformed, timed_out, bytes_in, bytes_out;
};

int http_server_new(struct loop *loop, const struct http_server_options *options,
		    struct http_server **ret);
/* A listening socket, unix or TCP; stays the caller's; is made non-blocking. */
int http_server_listen(struct http_server *server, int socket);
void http_server_counts(const struct http_server *server, struct http_counts *ret);
/*
 * No new connections; those that are idle end; `done` when the last answer is out (at once, when
 * there is none).
 */
void http_server_drain(struct http_server *server, void (*done)(void *user), void *user);
/* Ends all connections (`gone` is called). Not from a handler. */
void http_server_free(struct http_server *server);
/*
 * So many bytes of a body are held by the handler, after the exchange that they came with: they
 * count as if it were still there. Both may be NULL. What was counted is to be given back.
 */
void http_bodies_keep(struct http_server *server, struct http_budget *budget, size_t size);
void http_bodies_give(struct http_server *server, struct http_budget *budget, size_t size);
#endif
