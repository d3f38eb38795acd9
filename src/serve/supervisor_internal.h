/* SPDX-License-Identifier: Apache-2.0 */
/* The supervisor's parts, one file each: they share this. */
#ifndef BRIG_SERVE_SUPERVISOR_INTERNAL_H
#define BRIG_SERVE_SUPERVISOR_INTERNAL_H

#include "serve/reload.h"
#include "serve/role_set.h"
#include "serve/supervisor.h"

#define MS     UINT64_C(1000000)
#define SECOND (1000 * MS)

enum phase {
	STARTING, /* not all roles are ready */
	RUNNING,
	DRAINING, /* the front answers what is under way */
	ENDING,   /* all were told to quit, or killed */
	RESTING,  /* no role is there; the next start is due */
};

struct supervisor {
	const struct serve_options *options;
	struct serve_config *config;
	struct listeners listeners;
	struct state state;
	struct buf tokens;
	struct reload reload;
	struct loop *loop;
	int signals; /* owned */
	struct loop_source *signals_source;
	struct role_set set;
	enum phase phase;
	struct loop_timer phase_timer, tick;
	uint64_t started_ns, tick_ns;
	unsigned quick; /* sets in a row that died at their start */
	bool held;      /* what was queued waits for the operator's word */
	bool stop;      /* when the set is gone, all is over */
	bool told;      /* `ready` was called */
	int result;
	struct brig_error *err;
};

/* Phases: supervisor_phase.c. */
void supervisor_start(struct supervisor *s);
void supervisor_ready(struct supervisor *s);
/* The front answers what is under way; then the set ends. */
void supervisor_drain(struct supervisor *s);
void supervisor_end_set(struct supervisor *s);
/* Asked for the first time it drains, for the second it kills. */
void supervisor_stop(struct supervisor *s);
void supervisor_deadline(void *user);
void supervisor_died(void *user, struct role_child *child, int status);
/* What no operator says. Sockets and the state directory stay what they are until the end. */
void supervisor_complete(struct supervisor *s, struct serve_config *config);

/* From roles: supervisor_messages.c. */
void supervisor_message(void *user, struct role_child *child, char word);

/* Another configuration: supervisor_reload.c. */
void supervisor_reload(struct supervisor *s);
void supervisor_reload_accepted(struct supervisor *s, struct role_child *child);
void supervisor_reload_refused(struct supervisor *s, struct role_child *child);

/* Loop, signals and ticks: supervisor_watch.c. */
int supervisor_watch(struct supervisor *s, struct brig_error *err);
#endif
