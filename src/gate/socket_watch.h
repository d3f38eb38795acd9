/* SPDX-License-Identifier: Apache-2.0 */
/* What is waited for on one socket, at the moment. */
#ifndef BRIG_GATE_SOCKET_WATCH_H
#define BRIG_GATE_SOCKET_WATCH_H

#include "loop/loop.h"

struct watch {
	struct loop_source *source; /* NULL: nothing */
	uint32_t events;
};

struct watch_wish {
	int fd;
	uint32_t events;
	bool resets; /* with no events: it stays for the word that the other side has gone */
	loop_ready *ready;
	void *user;
};

/* A socket that nothing is wanted of is taken out: its end would be told without end. */
int watch_set(struct watch *watch, struct loop *loop, const struct watch_wish *wish);
void watch_done(struct watch *watch);
/* Of a socket that stayed for that word alone: was it said? */
bool watch_is_gone(const struct watch *watch, uint32_t events);
#endif
