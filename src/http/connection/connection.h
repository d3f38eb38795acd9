/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection: reads a request, has it answered, and reads the next one. While an answer is in
 * progress nothing is read, so that pipelined requests wait in the kernel. An idle connection has
 * no buffers.
 */
#ifndef BRIG_HTTP_CONNECTION_H
#define BRIG_HTTP_CONNECTION_H

#include "base/invariant.h"
#include "http/connection/byte_stream.h"
#include "http/connection/outbox.h"
#include "http/server.h"

struct exchange;

/* Its life: connection_enter() is the only function that changes it. */
enum connection_state {
	CONNECTION_ACCEPTED, /* not in the lists of the server yet */
	CONNECTION_OPENING,  /* the transport's handshake */
	CONNECTION_IDLE,     /* no byte of a request */
	CONNECTION_HEAD,
	CONNECTION_BODY,
	CONNECTION_WORKING,   /* the handler works on the request */
	CONNECTION_STREAMING, /* the answer has begun */
	CONNECTION_HELD,      /* the same; the writer of the stream waits for `drained` */
	CONNECTION_FLUSHING,  /* the answer is complete, but not all of it is sent */
	CONNECTION_ENDING,    /* the answer is sent; the end of the stream is not */
	/*
	 * everything is sent; further input is discarded, so that the peer can read the answer
	 * before it sees that the connection is closed
	 */
	CONNECTION_LINGERING,
	/*
	 * to be ended as soon as no function uses it. The steps of a handler that has not been told
	 * change nothing any more.
	 */
	CONNECTION_BROKEN,
	CONNECTION_STATES
};

/* The peer's bytes: they may come at any time, and are read in some states only. */
enum socket_input {
	INPUT_READ,    /* none is known to wait, or it is being read */
	INPUT_UNREAD,  /* there was some while it was not to be read */
	INPUT_BLOCKED, /* the transport must write before it can read */
	INPUT_CLOSED,  /* the peer sends no more than what waits */
};

struct http_connection {
	struct http_server *server;
	struct loop_source *source;
	struct loop_timer timer;
	struct peer *peer;
	struct http_connection *previous, *next; /* in the list of all */
	struct connection_queue *queue;          /* NULL: in none */
	struct http_connection *queue_previous, *queue_next;

	struct exchange *exchange; /* owned until the answer is complete */
	struct outbox outbox;
	struct http_budget *budget; /* for the bytes in the outbox; or NULL */
	size_t charged;             /* bytes counted in the budget */
	const char *input; /* input that is not used yet: in the server's buffer or in `stash` */
	size_t input_size;
	char *stash; /* owned */

	uint64_t since_ns; /* when it entered its state */
	uint64_t slack_ns; /* deadline that each byte moves, for bodies and answers */
	size_t lingered;
	struct byte_stream byte_stream;
	uint32_t events;
	uint8_t state;        /* enum connection_state */
	uint8_t socket_input; /* enum socket_input */
	bool busy;            /* its own functions are active: they go on by themselves */
	bool close;           /* after the answer */
};

/* Adds it to the loop. 0 or -errno. */
int connection_start(struct http_connection *c);
/* Is it in one of these states (STATE_BIT)? */
static inline bool connection_in(const struct http_connection *c, uint32_t states)
{
	return (STATE_BIT(c->state) & states) != 0;
}

/* Changes the state, with its queue and its deadline. A broken connection stays broken. */
void connection_enter(struct http_connection *c, enum connection_state state);
/* Does everything that can be done now. The connection may be freed afterwards. */
void connection_proceed(struct http_connection *c);
/* Ends it soon, but not in this call. */
void connection_break(struct http_connection *c);
/* Takes the rope over: the rest of an answer. */
void connection_attach(struct http_connection *c, struct rope *rope);
/* Sends bytes of an answer. */
void connection_send(struct http_connection *c, const struct iovec *parts, size_t count);
/* Answers with an error of this layer; then ends. */
void connection_refuse(struct http_connection *c, int status, const char *why);
#endif
