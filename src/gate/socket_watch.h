/* SPDX-License-Identifier: Apache-2.0 */
/* What is waited for on one socket, at the moment. */
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
	bool resets; /* with no events: it stays for the word that the other side has gone */
	loop_ready *ready;
	void *user;
};

/* A socket that nothing is wanted of is taken out: its end would be told without end. */
int socket_watch_set(struct socket_watch *watch, struct loop *loop,
		     const struct socket_watch_request *wish);
void socket_watch_done(struct socket_watch *watch);
/* Of a socket that stayed for that word alone: was it said? */
bool socket_watch_is_gone(const struct socket_watch *watch, uint32_t events);
#endif
