/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1.1 for the front: strict, bounded, without threads. Handles connections, heads, bodies and
 * answers; their meaning is up to the handler.
 */
#ifndef BRIG_HTTP_HTTP_H
#define BRIG_HTTP_HTTP_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/bytes/rope.h"
#include "loop/loop.h"

/*
 * 0: the default in http_limits.c. All sizes that a client chooses are here, also those that the
 * handler checks: each has the name of its key in the configuration, and a refusal names it.
 */
struct http_limits {
	size_t head_bytes;   /* request line and headers together: 431, 414 */
	unsigned headers;    /* 431 */
	size_t body_bytes;   /* of any body: 413 */
	size_t bodies_bytes; /* bodies of all connections together: 503 */

	size_t json_bytes;          /* of a JSON body: 413 */
	size_t file_bytes;          /* of a file that is a body: 413 */
	size_t tenant_body_bytes;   /* bodies of one tenant, until they are answered: 429 */
	size_t tenant_answer_bytes; /* one tenant's answers that are not sent yet: 429 */
	size_t queued_bytes;        /* requests that were accepted and have not started: 429 */
	size_t tenant_queued_bytes; /* of one tenant: 429 */

	unsigned connections; /* (12000); above that the longest idle is closed at accept */
	/*
	 * of one unix uid or one address (7/8 of all): its own idle ones are closed first, then 503
	 */
	unsigned connections_per_peer;
	/*
	 * from the first byte to the end of the head (10 s): 408; also for the transport's
	 * handshake: closed
	 */
	uint64_t head_ns;
	uint64_t body_ns;  /* for the whole body, and at least 1 KiB/s (60 s): 408 */
	uint64_t idle_ns;  /* between requests (75 s): closed */
	uint64_t write_ns; /* while the peer reads less than 1 KiB/s of its answer (30 s): closed */
};

struct http_header {
	const char *name;  /* as sent; compare with http_header_find */
	const char *value; /* trimmed; for a list in several lines: all values, joined by ", " */
};

struct http_peer {
	bool local; /* a unix socket: uid is the peer's user */
	uid_t uid;
	char address[64]; /* of a TCP peer, without port */
};

/*
 * Bytes that are held for one tenant, over any number of connections. The owner sets the limits (0:
 * none) and keeps it as long as the server; the rest is counted here.
 */
struct http_budget {
	size_t bodies, bodies_max;   /* of requests, from their first byte to the answer: 429 */
	size_t answers, answers_max; /* that are not sent yet: 429 instead of another one */
};

/* The handler's receiver for a long body, which is not held here. It is freed with the exchange. */
#define HTTP_BODY_HELD_MAX (256u << 10)
struct http_sink {
	/* All bytes, in order. 0, or -errno: the request is refused with 503. */
	int (*take)(struct http_sink *sink, const char *data, size_t size);
	/* Bytes that it keeps, which may be more than it was given. */
	size_t (*held)(const struct http_sink *sink);
	void (*free)(struct http_sink *sink);
};

/* One request and its answer. */
struct http_exchange {
	/* the complete request; all strings belong to the exchange */
	const char *method; /* GET HEAD POST PUT PATCH DELETE OPTIONS */
	const char *target; /* as sent */
	/*
	 * decoded UTF-8, no control character, no "." or "..", no empty part except the last; an
	 * encoded "/" was refused
	 */
	const char *path;
	const char *query;                 /* as sent (with valid escapes), without "?"; or NULL */
	const struct http_header *headers; /* only HTTP/1.0 may lack "Host" */
	size_t headers_count;
	const char *body; /* NUL-terminated; NULL when there is none, or the sink has it */
	size_t body_size;
	struct http_sink *sink; /* set in `admit`: for a body of more than HTTP_BODY_HELD_MAX */
	const char *limit;      /* set in `admit`: the name of the limit that it sets; or NULL */
	struct http_peer peer;
	struct http_budget *budget; /* the handler's, set in `admit` or `handle`; or NULL */

	/*
	 * The handler's, set in `admit` or `handle`. Called when the client leaves before the
	 * answer is complete; the exchange ends with it. Without it an exchange stays until it is
	 * answered, and the answer is dropped.
	 *
	 * A TCP client that has closed its sending side counts as gone: it cannot be told from one
	 * that has closed the connection. Over a unix socket only the latter counts.
	 */
	void (*gone)(void *user);
	/* called when more of a streamed answer may be written */
	void (*drained)(void *user);
	void *user;
};

/*
 * Counts bytes that are held for an answer outside of this layer. False: the budget (which may be
 * NULL) has no room for them, and nothing is counted. Counted bytes must be given back.
 */
bool http_budget_take(struct http_budget *budget, size_t size);
void http_budget_give(struct http_budget *budget, size_t size);

/* NULL: not found. A duplicate header (that is not a list) was refused before. */
const char *http_header_find(const struct http_exchange *exchange, const char *name);

/*
 * Adds a header to the answer; before respond or stream. -EINVAL: not a valid name, a value with
 * control characters, or a header that this layer writes itself (Content-Length, Connection, ...).
 */
int http_answer_header(struct http_exchange *exchange, const char *name, const char *value);
/*
 * Sends the whole answer. Afterwards the exchange is freed, unless this is called in the handler.
 */
void http_respond(struct http_exchange *exchange, int status, const char *content_type,
		  const void *body, size_t size);
/* The same with a text in parts, which is taken over and sent in slices. */
void http_respond_rope(struct http_exchange *exchange, int status, const char *content_type,
		       struct rope *body);
/*
 * Sends no answer, or no more of it: the connection ends, so that a partial answer is not taken for
 * a complete one. The exchange is freed afterwards, and `gone` is not called.
 */
void http_cut(struct http_exchange *exchange);
/* Has a part of the answer been sent? */
bool http_streaming(const struct http_exchange *exchange);
/* An answer in parts (chunked; SSE). */
void http_stream_begin(struct http_exchange *exchange, int status, const char *content_type);
/*
 * Returns the bytes that the client has not read yet; above 256 KiB stop writing until `drained`.
 * Above 16 MiB the client is disconnected. SIZE_MAX: the client is gone, `gone` will be called.
 */
size_t http_stream_write(struct http_exchange *exchange, const void *data, size_t size);
/* Like http_respond: the exchange is freed afterwards. */
void http_stream_end(struct http_exchange *exchange);

/*
 * A transport for TCP connections other than plain text. Sockets do not block; a function that
 * cannot go on returns what it waits for, and is called again when that is ready.
 */
#define HTTP_WANTS_INPUT  (-EAGAIN)
#define HTTP_WANTS_OUTPUT (-EINPROGRESS)
/*
 * The least room that `receive` is given. It must return every byte that fits: the loop watches the
 * socket alone, and would not notice bytes that are held back.
 */
#define HTTP_TRANSPORT_BYTES 16384

struct http_transport {
	/* The socket remains the caller's. NULL: out of memory. */
	void *(*open)(void *user, int fd);
	/*
	 * Called first, until it returns 0. -EPROTOTYPE: the peer sent unencrypted HTTP. Any other
	 * error: no connection; the peer has been sent the alert, if any.
	 */
	int (*begin)(void *state);
	/* The number of bytes, 0 at the end, or -errno. */
	ssize_t (*receive)(void *state, void *data, size_t size);
	/*
	 * How many bytes were taken (0: none now), or -errno. The others are given again, perhaps
	 * with more after them.
	 */
	ssize_t (*send)(void *state, const struct iovec *parts, size_t count);
	/* Sends the end of the stream to the peer. 0 or HTTP_WANTS_OUTPUT. */
	int (*end)(void *state);
	/* Sends nothing: the peer can see that the stream was cut, unless `end` was called. */
	void (*free)(void *state);
	void *user;
};

struct http_server;

struct http_server_options {
	struct http_limits limits;
	const struct http_transport *tcp; /* for TCP; remains the caller's; NULL: unencrypted */
	/* Called with a complete request. Must answer, now or later. */
	void (*handle)(void *user, struct http_exchange *exchange);
	/*
	 * Called for every request when the head is complete and before the body is read: 0 to go
	 * on, or a status (401, 403, 404, 413, 415) to refuse with; `ret_limit` may be lowered. May
	 * be NULL. It prevents a client without a token from making the server keep a body. It may
	 * set answer headers, and it may call http_respond() itself, which is a refusal too. A
	 * refusal ends the connection.
	 */
	int (*admit)(void *user, struct http_exchange *exchange, size_t *ret_limit);
	/* The body for an error of the HTTP layer itself (problem+json); the caller frees it. */
	char *(*problem)(void *user, int status, const char *why);
	void *user;
};

struct http_counts {
	uint64_t connections, accepted, requests, malformed, timed_out, bytes_in, bytes_out;
};

int http_server_new(struct loop *loop, const struct http_server_options *options,
		    struct http_server **ret);
/* A listening socket, unix or TCP; remains the caller's; is made non-blocking. */
int http_server_listen(struct http_server *server, int socket);
void http_server_counts(const struct http_server *server, struct http_counts *ret);
/*
 * No new connections are accepted; idle ones end; `done` is called when the last answer is sent (at
 * once, when there is none).
 */
void http_server_drain(struct http_server *server, void (*done)(void *user), void *user);
/* Ends all connections (`gone` is called). Not from a handler. */
void http_server_free(struct http_server *server);
/*
 * Counts bytes of a body that the handler keeps after its exchange, as if the exchange still
 * existed. Both may be NULL. Counted bytes must be given back.
 */
void http_bodies_keep(struct http_server *server, struct http_budget *budget, size_t size);
void http_bodies_give(struct http_server *server, struct http_budget *budget, size_t size);
#endif
