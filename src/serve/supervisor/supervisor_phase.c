/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The phases of a set of roles: started, running, drained, ended, and started again. Every change
 * of phase is in this file.
 */
#include "serve/supervisor/supervisor_internal.h"

#include <errno.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "serve/supervisor/notify.h"

#define START_NS  (60 * SECOND) /* for all roles to be ready */
#define GRACE_NS  (5 * SECOND)  /* from "quit" to SIGKILL */
#define QUICK_NS  (5 * SECOND)  /* a set that lives shorter has died at its start */
#define DELAY_NS  (25 * MS)     /* before the second start; doubled each time */
#define DOUBLINGS 20

static const uint32_t phase_edges[PHASES] = {
	/* The next start is scheduled anew. */
	[RESTING] = STATE_BIT(STARTING) | STATE_BIT(RESTING),
	/* It failed as a whole, or a role has died, or a stop was requested. */
	[STARTING] = STATE_BIT(RUNNING) | STATE_BIT(ENDING) | STATE_BIT(RESTING),
	[RUNNING] = STATE_BIT(DRAINING) | STATE_BIT(ENDING),
	[DRAINING] = STATE_BIT(ENDING),
	/* Those that have not ended get another deadline. */
	[ENDING] = STATE_BIT(ENDING) | STATE_BIT(RESTING),
};

void supervisor_enter(struct supervisor *s, enum supervisor_phase phase, uint64_t deadline_ns)
{
	invariant(state_allows(phase_edges, s->phase, phase));
	invariant(phase != RUNNING || role_set_ready(&s->set));
	invariant(phase != RESTING || !role_set_alive(&s->set));
	s->phase = phase;
	loop_timer_clear(&s->phase_timer);
	if (deadline_ns) {
		/*
		 * Without memory for a timer there is no deadline; the phase continues without one.
		 */
		(void)loop_timer_set(s->loop, &s->phase_timer, clock_now_ns() + deadline_ns);
	}
}

void supervisor_end_set(struct supervisor *s)
{
	role_set_send(&s->set, CONTROL_QUIT);
	supervisor_enter(s, ENDING, GRACE_NS);
}

/* All roles of the set have ended. */
static void rest(struct supervisor *s, uint64_t delay_ns)
{
	if (s->stop) {
		loop_stop(s->loop);
		return;
	}
	supervisor_enter(s, RESTING, delay_ns ? delay_ns : 1);
}

static uint64_t delay_after(const struct supervisor *s)
{
	unsigned doublings = s->quick < DOUBLINGS ? s->quick : DOUBLINGS;
	uint64_t delay = s->quick == 0 ? 0 : DELAY_NS << (doublings - 1);

	return delay < s->config->restart_delay_ns ? delay : s->config->restart_delay_ns;
}

static void give_up(struct supervisor *s)
{
	role_log(ROLE_ERROR, "gives-up", "starts=%u", s->quick);
	s->result = error_set(s->err, BRIG_E_SYSTEM, ECHILD,
			      "the service died %u times in a row at its start", s->quick);
	error_remedy(s->err, "the log has the reason of each; try: brig serve --log-level debug");
	s->stop = true;
}

/* Called for the first death in a set that was not told to end. */
static void count_death(struct supervisor *s)
{
	bool quick = clock_now_ns() - s->started_ns < QUICK_NS;

	s->quick = quick ? s->quick + 1 : 0;
	if (s->config->restart_hold && s->quick >= s->config->restart_hold && !s->held) {
		s->held = true;
		role_log(
			ROLE_ERROR, "queue-held", "deaths=%u remedy=%s", s->quick,
			"brig queue shows it; brig queue release runs it, brig queue drop ends it");
	}
	if (s->config->restarts && s->quick > s->config->restarts) {
		give_up(s);
	}
}

void supervisor_died(void *user, struct role_child *child, int status)
{
	struct supervisor *s = user;
	bool expected = s->phase == ENDING || (s->phase == DRAINING && s->stop);

	role_log(expected ? ROLE_INFO : ROLE_ERROR, "role-ended",
		 "which=%s pid=%d exit_status=%d signal=%d", role_name(child->role),
		 (int)child->pid, WIFEXITED(status) ? WEXITSTATUS(status) : -1,
		 WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	if (s->phase == STARTING || s->phase == RUNNING) {
		count_death(s);
	}
	if (s->reload.waits) { /* no front can reply: the next one is asked */
		reload_drop(&s->reload);
		s->reload.again = true;
	}
	if (s->phase != ENDING) {
		supervisor_end_set(s);
	}
	if (!role_set_alive(&s->set)) {
		rest(s, delay_after(s));
	}
}

void supervisor_complete(struct supervisor *s, struct serve_config *config)
{
	struct brig_error error = { 0 };

	config->listeners = s->listeners.count;
	config->hold_queue = s->held;
	config->broker = role_set_brokered();
	if (config->broker && !config->cache_dir && !s->state.fleeting &&
	    state_cache(&s->state, seal_id(ROLE_WARDEN), &config->cache_dir, &error) < 0) {
		role_log(ROLE_WARNING, "no-cache", "cause=%s", error.message);
	}
}

void supervisor_start(struct supervisor *s)
{
	struct brig_error error = { 0 };
	struct role_parts parts = { s->config, &s->listeners, &s->state, &s->tokens };

	s->started_ns = clock_now_ns();
	supervisor_complete(s, s->config);
	supervisor_enter(s, STARTING, START_NS);
	if (role_set_start(&s->set, &parts, &error) < 0) {
		role_log(ROLE_ERROR, "start-failed", "cause=%s remedy=%s", error.message,
			 error.remedy);
		count_death(s);
		rest(s, delay_after(s));
	}
}

void supervisor_ready(struct supervisor *s)
{
	supervisor_enter(s, RUNNING, 0);
	role_log(ROLE_NOTICE, "ready", "after_ms=%lu",
		 (unsigned long)((clock_now_ns() - s->started_ns) / MS));
	notify_send("READY=1\nSTATUS=Serving");
	if (!s->told && s->options->ready) {
		s->told = true;
		s->options->ready(s->options->user, &s->listeners);
	}
	if (s->reload.again) {
		supervisor_reload(s);
	}
}

void supervisor_drain(struct supervisor *s)
{
	if (s->phase == RUNNING) {
		role_set_send(&s->set, CONTROL_DRAIN);
		supervisor_enter(s, DRAINING, s->config->drain_ns);
	} else if (s->phase == STARTING) {
		supervisor_end_set(s);
	} else if (s->phase == RESTING) {
		rest(s, 0);
	}
}

void supervisor_stop(struct supervisor *s)
{
	if (s->stop) { /* second request: end now */
		role_set_kill(&s->set);
		if (s->phase != ENDING && s->phase != RESTING) {
			supervisor_enter(s, ENDING, GRACE_NS);
		}
		return;
	}
	role_log(ROLE_NOTICE, "stopping", "drain_ms=%lu",
		 (unsigned long)(s->config->drain_ns / MS));
	notify_send("STOPPING=1\nSTATUS=Finishing current requests");
	s->stop = true;
	supervisor_drain(s);
}

void supervisor_deadline(void *user)
{
	struct supervisor *s = user;

	switch (s->phase) {
	case STARTING:
		role_log(ROLE_ERROR, "start-hangs", "after_ms=%lu", (unsigned long)(START_NS / MS));
		role_set_kill(&s->set);
		break;
	case DRAINING:
		role_log(ROLE_WARNING, "drain-cut", NULL);
		supervisor_end_set(s);
		break;
	case ENDING:
		/* The broker removes the warden's group, when that is empty. */
		if (role_set_kill_but(&s->set, ROLE_BROKER)) {
			supervisor_enter(s, ENDING, GRACE_NS);
		} else {
			role_set_kill(&s->set);
		}
		break;
	case RESTING:
		supervisor_start(s);
		break;
	case RUNNING:
	case PHASES:
		break;
	}
}
