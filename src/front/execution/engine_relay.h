/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine in front of another engine: it handles some calls in its own way and passes them on.
 * The parts that such engines share; each begins with a struct relay, and its calls with a struct
 * relay_call.
 */
#ifndef BRIG_FRONT_EXECUTION_ENGINE_RELAY_H
#define BRIG_FRONT_EXECUTION_ENGINE_RELAY_H

#include "front/front_internal.h"

struct relay_call {
	struct engine *engine; /* first, as in every engine's struct engine_run */
	struct relay_call *next, **link;
	struct engine_run *inner; /* NULL: not passed on yet, or answered */
	void (*end)(void *user, const char *data, size_t size);
	void (*end_block)(void *user, int block);
	void (*fail)(void *user, const struct brig_error *error);
	void *user;
};

struct relay {
	struct engine engine;
	struct front *front;
	struct engine *inner;          /* borrowed */
	struct relay_call *calls;      /* owned: those in progress */
	struct relay_call *close_next; /* of these, while they are closed one by one; or NULL */
	void (*call_free)(struct engine_run *run); /* for relay_end_block() */
};

/* Allocates `size` bytes, zeroed but for the relay; NULL: no memory. */
struct relay *relay_new(size_t size, const struct engine_class *class, struct front *front,
			struct engine *inner);
/* Forgets all calls in progress. */
void relay_free(struct relay *relay);
struct relay *relay_of(const struct engine_run *run);
/* A call of `size` bytes, which is in progress from here on; NULL: no memory. */
void *relay_call_new(struct engine *engine, size_t size, const struct engine_call *given);
void relay_call_free(struct relay_call *call);
/* An engine_call's end_block: reports the end to the caller and frees the call. */
void relay_end_block(void *user, int block);
/* For the engine's class. */
void relay_pause(struct engine_run *run, bool paused);
#endif
