/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the supervisor. */
#ifndef BRIG_SERVE_SUPERVISOR_INTERNAL_H
#define BRIG_SERVE_SUPERVISOR_INTERNAL_H

#include "serve/supervisor/reload.h"
#include "serve/supervisor/role_set.h"
#include "serve/supervisor/supervisor.h"

#define MS     UINT64_C(1000000)
#define SECOND (1000 * MS)

enum supervisor_phase {
	RESTING,  /* no role is running; the next start is scheduled */
	STARTING, /* not all roles are ready */
	RUNNING,
	DRAINING, /* the front finishes its current requests */
	ENDING,   /* all roles were told to quit, or killed */
	PHASES
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
	enum supervisor_phase phase;
	struct loop_timer phase_timer, tick;
	uint64_t started_ns, tick_ns;
	unsigned quick; /* number of sets in a row that died at their start */
	bool held;      /* queued executions wait for the operator's decision */
	bool stop;      /* the supervisor ends when the set has ended */
	bool told;      /* `ready` was called */
	int result;
	struct brig_error *err;
};

/* Phases: supervisor_phase.c. The next phase, with its deadline; 0: none. */
void supervisor_enter(struct supervisor *s, enum supervisor_phase phase, uint64_t deadline_ns);
void supervisor_start(struct supervisor *s);
void supervisor_ready(struct supervisor *s);
/* The front finishes its current requests; then the set ends. */
void supervisor_drain(struct supervisor *s);
void supervisor_end_set(struct supervisor *s);
/* The first call drains, the second one kills. */
void supervisor_stop(struct supervisor *s);
void supervisor_deadline(void *user);
void supervisor_died(void *user, struct role_child *child, int status);
/* Sets the internal keys. Sockets and the state directory stay the same until the end. */
void supervisor_complete(struct supervisor *s, struct serve_config *config);

/* Messages from roles: supervisor_messages.c. */
void supervisor_message(void *user, struct role_child *child, char message);

/* Reloading the configuration: supervisor_reload.c. */
void supervisor_reload(struct supervisor *s);
void supervisor_reload_accepted(struct supervisor *s, struct role_child *child);
void supervisor_reload_refused(struct supervisor *s, struct role_child *child);

/* Loop, signals and ticks: supervisor_watch.c. */
int supervisor_watch(struct supervisor *s, struct brig_error *err);
#endif
