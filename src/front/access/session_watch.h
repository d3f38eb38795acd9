/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the warden continuously which sessions have ended, and reports them to the ledger. */
#ifndef BRIG_FRONT_ACCESS_SESSION_WATCH_H
#define BRIG_FRONT_ACCESS_SESSION_WATCH_H

#include <jansson.h>

#include "front/front_internal.h"

struct session_watch {
	struct front *front;
	struct engine *inner;   /* borrowed */
	struct engine_run *run; /* the call in progress */
	struct loop_timer again;
};

void session_watch_begin(struct session_watch *watch, struct front *front, struct engine *inner);
void session_watch_end(struct session_watch *watch);
/* The number of runs in a session object. */
uint64_t session_runs(const json_t *object);
#endif
