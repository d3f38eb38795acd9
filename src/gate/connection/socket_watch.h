/* SPDX-License-Identifier: Apache-2.0 */
/* The events that one socket is watched for at the moment. */
#ifndef BRIG_GATE_SOCKET_WATCH_H
#define BRIG_GATE_SOCKET_WATCH_H

#include "loop/loop.h"

struct socket_watch {
	struct loop_source *source; /* NULL: nothing */
	uint32_t events;
};

struct socket_watch_request {
	int fd;
	uint32_t events;
	bool resets; /* without events: stays watched for a reset by the other side */
	loop_ready *ready;
	void *user;
};

/* A socket without wanted events is removed: its hangup would be reported again and again. */
int socket_watch_set(struct socket_watch *watch, struct loop *loop,
		     const struct socket_watch_request *wish);
void socket_watch_done(struct socket_watch *watch);
/* For a socket that is watched for a reset alone: has it come? */
bool socket_watch_is_gone(const struct socket_watch *watch, uint32_t events);
#endif
