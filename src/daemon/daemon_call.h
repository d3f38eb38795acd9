/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call of the Engine API: a request and its answer on a connection of its own. Nothing blocks.
 * The answer is bounded: a head and a body of fixed sizes at most, within the caller's deadline.
 */
#ifndef BRIG_DAEMON_DAEMON_CALL_H
#define BRIG_DAEMON_DAEMON_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes/buf.h"
#include "base/error.h"
#include "http1/http1.h"

#define DAEMON_HEAD_BYTES 16384u
#define DAEMON_BODY_BYTES 262144u

struct daemon_call {
	int fd;             /* owned; -1: there is none */
	struct buf request; /* owned: with its body */
	size_t sent;        /* of it */
	struct buf head;    /* owned: of the answer */
	struct buf body;    /* owned: likewise */
	size_t body_most;
	struct http1_reader reader;
	bool has_head;
	bool over; /* the answer is complete */
};
#define DAEMON_CALL_NONE                                                                           \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/* The question, as data. */
struct daemon_request {
	const char *method, *path;
	const char *type; /* of the body; NULL: there is none */
	const void *body; /* borrowed, and copied */
	size_t size;
	bool upgrade;        /* the connection becomes the stream */
	size_t answer_bytes; /* the largest body of the answer; 0: DAEMON_BODY_BYTES */
};

/* Connects, and queues the request. */
int daemon_call_begin(struct daemon_call *call, const char *socket,
		      const struct daemon_request *request, struct brig_error *err);
/* Likewise on a connected socket, which is owned from here on. */
int daemon_call_on(struct daemon_call *call, int fd, const struct daemon_request *request);
/* The events that it waits for. */
uint32_t daemon_call_events(const struct daemon_call *call);
/* Sends and receives some. 1: the answer is complete; 0: not yet; -errno. */
int daemon_call_turn(struct daemon_call *call, struct brig_error *err);
void daemon_call_done(struct daemon_call *call);

static inline unsigned daemon_call_status(const struct daemon_call *call)
{
	return call->reader.line.status;
}

/* The same, and waits for the answer: for probes. */
int daemon_ask(struct daemon_call *call, const char *socket, const struct daemon_request *request,
	       uint64_t deadline_ns, struct brig_error *err);
#endif
