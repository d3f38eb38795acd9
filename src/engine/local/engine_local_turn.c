/* SPDX-License-Identifier: Apache-2.0 */
/* Turns of runs on the engine's thread: see engine_share.h. */
#include <sys/epoll.h>

#include "base/clock.h"
#include "engine/local/engine_local.h"
#include "lib/api/api_run.h"

static uint64_t charge(struct local *local, struct share *share, uint64_t began_ns)
{
	uint64_t now = clock_now_ns();
	uint64_t wait = share_charge(&local->shares, share, share_clock_ns() - began_ns, now);

	return wait ? now + wait : 0;
}

uint64_t local_turn_over(struct engine_run *run, uint64_t began_ns)
{
	return charge(run->local, run->share, began_ns);
}

uint64_t local_call_charge(struct engine_run *run)
{
	uint64_t began_ns = run->call_ns;

	run->call_ns = 0;
	return began_ns ? local_turn_over(run, began_ns) : 0;
}

void local_turn_begun(struct engine_run *run)
{
	struct shares *shares = &run->local->shares;

	brig_run_used_before(run->run, share_spent(shares, run->share, clock_now_ns()));
	share_run_begins(shares, run->share);
	local_call_enter(run, CALL_RUNNING);
}

void local_turn_left(struct engine_run *run, uint64_t cpu_ns)
{
	if (run->state == CALL_RUNNING) {
		share_run_ends(&run->local->shares, run->share, cpu_ns, clock_now_ns());
	}
}

void local_turn_drop(struct engine_run *run)
{
	if (run->held.place) {
		loop_timer_clear(&run->held);
		share_waited(&run->local->shares, run->share);
	}
}

static void go_on(void *user)
{
	struct engine_run *run = user;

	share_waited(&run->local->shares, run->share);
	(void)loop_change(run->source, EPOLLIN);
}

/* Events in its cell during that time are handled later, all in one turn. */
void local_turn_hold(struct engine_run *run, uint64_t began_ns)
{
	uint64_t at_ns = local_turn_over(run, began_ns);

	run->held.due = go_on;
	run->held.user = run;
	if (at_ns && loop_timer_set(run->local->loop, &run->held, at_ns) == 0) {
		share_wait(&run->local->shares, run->share);
		(void)loop_change(run->source, 0);
	}
}

/* --- sessions -------------------------------------------------------------------------------- */

/*
 * The descriptor of a run contains that of its session: if both were watched, a held run would
 * continue.
 */
static void listen_to_session(struct local_session *session)
{
	bool silent = session->current || session->held.place;

	(void)loop_change(session->source, silent ? 0 : EPOLLIN);
}

void local_session_occupy(struct local_session *session, struct engine_run *run)
{
	session->current = run;
	if (session->state != LOCAL_SESSION_ENDED) {
		local_session_enter(session, run ? LOCAL_SESSION_BUSY : LOCAL_SESSION_IDLE);
	}
	listen_to_session(session);
}

static void session_goes_on(void *user)
{
	struct local_session *session = user;

	share_waited(&session->local->shares, session->share);
	listen_to_session(session);
}

void local_turn_hold_session(struct local_session *session, uint64_t began_ns)
{
	uint64_t at_ns = charge(session->local, session->share, began_ns);

	session->held.due = session_goes_on;
	session->held.user = session;
	if (at_ns && loop_timer_set(session->local->loop, &session->held, at_ns) == 0) {
		share_wait(&session->local->shares, session->share);
		listen_to_session(session);
	}
}

void local_turn_drop_session(struct local_session *session)
{
	if (session->held.place) {
		loop_timer_clear(&session->held);
		share_waited(&session->local->shares, session->share);
	}
}
