/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the engine before the engine share: see admitted_engine.c. */
#ifndef BRIG_FRONT_ACCESS_ADMITTED_H
#define BRIG_FRONT_ACCESS_ADMITTED_H

#include "front/front_internal.h"

struct admitted {
	struct engine engine;
	struct front *front;
	struct engine_run *runs; /* owned: those under way */
};

struct engine_run {
	struct engine *engine;
	struct engine_run *next, *previous;
	struct execution *execution; /* until it is submitted */
	struct execution_listener listener;
	struct loop_timer soon;
	struct output_log_position position;
	/* A fork: what is asked of the engine behind, by whom, and of which session. */
	struct engine_run *inner; /* NULL: nothing is under way there */
	char caller_name[TOKEN_NAME_MAX + 1];
	char session[65];
	void (*output)(void *user, int stream, const void *data, size_t size);
	void (*end)(void *user, const char *data, size_t size);
	void (*result)(void *user, struct block *result);
	void (*fail)(void *user, const struct brig_error *error);
	void *user;
};

/* One of the engine's own, with the call's functions. NULL: no memory. */
struct engine_run *admitted_run_new(struct admitted *admitted, const struct engine_call *call);
void admitted_run_free(struct engine_run *run);

/*
 * Who asks: anew each time, because tokens may have been read again since. false: nobody knows what
 * they may.
 */
bool admitted_caller(const struct front *front, const char *caller_name, struct caller *ret);

int admitted_fork(struct admitted *admitted, const struct engine_call *call,
		  struct engine_run **ret, struct brig_error *error);
#endif
