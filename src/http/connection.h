/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection: reads a request, has it answered, goes on. While an answer is under way nothing
 * is read, so that what a client sends ahead waits in the kernel. An idle one has no buffers.
 */
#ifndef BRIG_HTTP_CONNECTION_H
#define BRIG_HTTP_CONNECTION_H

#include "http/byte_stream.h"
#include "http/outbox.h"
#include "http/server.h"

struct exchange;

enum connection_state {
	CONNECTION_OPENING, /* the transport begins */
	CONNECTION_IDLE,    /* no byte of a request */
	CONNECTION_HEAD,
	CONNECTION_BODY,
	CONNECTION_WORKING,   /* the handler has it */
	CONNECTION_STREAMING, /* the answer has begun */
	CONNECTION_FLUSHING,  /* the answer is complete, and not all of it is taken */
	CONNECTION_LINGERING, /* all is said; what still comes is thrown away, so that the peer can
			       * read the answer before it hears that we have closed */
};

struct http_connection {
	struct http_server *server;
	struct loop_source *source;
	struct loop_timer timer;
	struct peer *peer;
	struct http_connection *previous, *next; /* among all */
	struct connection_queue *queue;          /* NULL: in none */
	struct http_connection *queue_previous, *queue_next;

	struct exchange *exchange; /* owned until the answer is complete */
	struct outbox outbox;
	struct http_budget *budget; /* of what waits there; or NULL */
	size_t charged;             /* to it */
	const char *input; /* what was read and not yet used: in the server's room or in `stash` */
	size_t input_size;
	char *stash; /* owned */

	uint64_t since_ns; /* when it came to its state */
	uint64_t slack_ns; /* deadline that each byte moves, for bodies and answers */
	size_t lingered;
	struct byte_stream byte_stream;
	uint32_t events;
	uint8_t state;
	bool busy;        /* its own functions are at work: they go on by themselves */
	bool broken;      /* to be ended as soon as nobody works on it */
	bool close;       /* after the answer */
	bool deaf;        /* something came while it was not to be read */
	bool half_closed; /* the peer sends no more */
	bool blocked;     /* the transport must write before it goes on */
	bool said_end;    /* the peer knows that nothing more comes */
	bool held;        /* the stream's writer waits for `drained` */
};

/* The loop calls it from now on. 0 or -errno. */
int connection_start(struct http_connection *c);
void connection_enter(struct http_connection *c, enum connection_state state);
/* Does all that can be done now. The connection may be gone afterwards. */
void connection_proceed(struct http_connection *c);
/* Ends it soon, but not in this call. */
void connection_break(struct http_connection *c);
/* Bytes of an answer. */
/* Takes the rope over: the rest of an answer. */
void connection_attach(struct http_connection *c, struct rope *rope);
void connection_send(struct http_connection *c, const struct iovec *parts, size_t count);
/* An error of this layer as the answer; then the end. */
void connection_refuse(struct http_connection *c, int status, const char *why);
#endif
