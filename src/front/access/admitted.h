/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of the admitted engine: see admitted_engine.c. */
#ifndef BRIG_FRONT_ACCESS_ADMITTED_H
#define BRIG_FRONT_ACCESS_ADMITTED_H

#include "front/front_internal.h"

struct admitted {
	struct engine engine;
	struct front *front;
	struct list runs; /* owned: those in progress */
};

struct engine_run {
	struct engine *engine;
	struct list_node node;
	struct execution *execution; /* until it is submitted */
	struct execution_listener listener;
	struct loop_timer soon;
	struct output_log_position position;
	/* For a fork: the call to the inner engine, its caller, and the session. */
	struct engine_run *inner; /* NULL: no call is in progress there */
	char caller_name[TOKEN_NAME_MAX + 1];
	char session[65];
	void (*output)(void *user, int stream, const void *data, size_t size);
	void (*end)(void *user, const char *data, size_t size);
	void (*result)(void *user, struct block *result);
	void (*fail)(void *user, const struct brig_error *error);
	void *user;
};

/* A run of this engine, with the call's callbacks. NULL: no memory. */
struct engine_run *admitted_run_new(struct admitted *admitted, const struct engine_call *call);
void admitted_run_free(struct engine_run *run);

/*
 * Looks the caller up each time, because the tokens may have been read again since. False: its
 * rights are not known.
 */
bool admitted_caller(const struct front *front, const char *caller_name, struct caller *ret);

int admitted_fork(struct admitted *admitted, const struct engine_call *call,
		  struct engine_run **ret, struct brig_error *error);
#endif
