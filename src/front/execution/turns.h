/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds the work that the streams of all clients together do in one round of the loop. A stream
 * that finds nothing left waits for a later round, first come, first served: other work is done in
 * between, however many readers there are, and however fast they are.
 */
#ifndef BRIG_FRONT_EXECUTION_TURNS_H
#define BRIG_FRONT_EXECUTION_TURNS_H

#include <stddef.h>

#include "loop/loop.h"

#define TURN_BYTES ((size_t)1 << 20)

struct turns {
	struct loop *loop;
	struct loop_timer timer; /* the end of a round */
	size_t used;             /* in this round */
	struct turn *first, **last;
};

/* A waiting stream. Zero-initialise it, except for the callback. */
struct turn {
	void (*due)(void *user); /* there is something left; it may join again */
	void *user;
	struct turn *next, **link; /* link NULL: it does not wait */
	struct turns *turns;
};

void turns_init(struct turns *turns, struct loop *loop);
void turns_done(struct turns *turns);
bool turns_left(const struct turns *turns);
void turns_spend(struct turns *turns, size_t bytes);
void turn_join(struct turns *turns, struct turn *turn);
void turn_leave(struct turn *turn);
#endif
