/* SPDX-License-Identifier: Apache-2.0 */
/* Opens, steps and ends a session. See session.h. */
#include "lib/session/session.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "kernel/sys.h"

void session_arm(struct brig_session *session, uint64_t in_ns)
{
	session->check_ns = in_ns ? clock_now_ns() + in_ns : 0;
	session->phase.run->alarm_ns = session->check_ns;
	run_arm(session->phase.run);
}

static int make_loop(struct brig_session *session)
{
	struct epoll_event want = { .events = EPOLLIN, .data = { .u32 = RUN_OWNERS_EVENT } };

	session->epoll = epoll_create1(EPOLL_CLOEXEC);
	session->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (session->epoll < 0 || session->timer < 0 ||
	    epoll_ctl(session->epoll, EPOLL_CTL_ADD, session->timer, &want) < 0) {
		return -errno;
	}
	return 0;
}

static int open_session(struct brig_session *session, const struct brig_request *request,
			struct brig_error *err)
{
	int r = make_loop(session);

	if (r < 0) {
		return error_errno(err, BRIG_E_SYSTEM, -r, "cannot make a session");
	}
	session->link = (struct run_session){ .channel = -1, .due = session_due, .user = session };
	session->asked = request->limits;
	session->most = request->limits_most;
	r = session_cell_start(session, request, err);
	if (r == 0 && request->clamp) {
		policy_limits_clamp(session->prepared.policy, &session->most, &session->asked);
	}
	return r;
}

int brig_session_open(struct brig_context *context, const struct brig_request *request,
		      struct brig_session **ret, struct brig_error *error)
{
	struct brig_session *session = calloc(1, sizeof(*session));
	struct brig_request whole = { 0 };

	if (!session) {
		return error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory for a session");
	}
	memcpy(&whole, request,
	       request->size && request->size < sizeof(whole) ? request->size : sizeof(whole));
	session->context = context;
	session->uses = 1;
	session->epoll = session->timer = session->inside = session->driver = -1;
	session->channel.fd = -1;
	session->prepared =
		(struct prepared){ .ids = -1, .workdir_fd = -1, .spec = { .devices = -1 } };
	int r = prepare_id(&whole, session->id, error);
	if (r == 0) {
		r = open_session(session, &whole, error);
	}
	if (r < 0) {
		session_unuse(session);
		return r;
	}
	*ret = session;
	return 0;
}

void session_use(struct brig_session *session)
{
	session->uses++;
}

void session_unuse(struct brig_session *session)
{
	if (--session->uses) {
		return;
	}
	session_cell_done(session);
	channel_done(&session->channel);
	close_fd(&session->inside);
	close_fd(&session->driver);
	close_fd(&session->timer);
	close_fd(&session->epoll);
	free(session);
}

void brig_session_end(struct brig_session *session, const char *reason)
{
	if (session->state == SESSION_GONE) {
		return;
	}
	if (!session->reason[0]) {
		snprintf(session->reason, sizeof(session->reason), "%s", reason);
	}
	struct run *run = session->phase.run;
	/* Without a control group the usage cannot be measured after their death. */
	if (session->state == SESSION_IDLE && run->state < RUN_ENDING) {
		struct run_section section;

		run_section_enter(run, &section);
		(void)watch_look(&run->watch, clock_now_ns(), &run->facts);
		run_section_leave(&section);
	}
	run_pause(run, false);
	run_end_now(run, ENDING_CANCELLED);
}

void brig_session_close(struct brig_session *session)
{
	if (session) {
		brig_session_end(session, "it was closed");
		session_unuse(session);
	}
}

/* --- the end -------------------------------------------------------------------------------- */

/* The reason of the cell's end, for later requests. */
static void explain_end(struct brig_session *session, const struct brig_result *result)
{
	const char *when = session_has_run(session) ? "" : " between runs";

	if (session->reason[0]) {
		return;
	}
	if (!result) {
		snprintf(session->reason, sizeof(session->reason), "its cell failed: %.150s",
			 session->error.message);
	} else if (session->state == SESSION_OPENING) {
		snprintf(session->reason, sizeof(session->reason),
			 "its interpreter did not start: %s (%s)", brig_status_name(result->status),
			 result->cause);
	} else if (result->limit_name[0] || result->status == BRIG_DENIED) {
		snprintf(session->reason, sizeof(session->reason), "it was ended%s: %s (%s)%s",
			 when, brig_status_name(result->status), result->cause,
			 session->state == SESSION_INTERRUPTED ? ", and could not be interrupted"
							       : "");
	} else if (result->signal) {
		snprintf(session->reason, sizeof(session->reason),
			 "its interpreter was ended%s by signal %d", when, result->signal);
	} else {
		snprintf(session->reason, sizeof(session->reason),
			 "its interpreter ended%s with status %d", when, result->exit_code);
	}
}

/* Closes the channel. Removed explicitly: a copy elsewhere would keep it in the set. */
static void drop_channel(struct brig_session *session)
{
	if (session->channel.fd >= 0) {
		epoll_ctl(session->epoll, EPOLL_CTL_DEL, session->channel.fd, NULL);
		plain_socket_close(&session->channel.fd);
	}
}

/* From here on its descriptor stays readable. */
static void finish_session(struct brig_session *session, int r)
{
	struct brig_result *result = r == 1 ? phase_take_result(&session->phase) : NULL;
	const struct itimerspec at_once = { .it_value = { .tv_nsec = 1 } };

	explain_end(session, result);
	session_enter(session, SESSION_GONE);
	drop_channel(session);
	session_cell_detach(session);
	timerfd_settime(session->timer, 0, &at_once, NULL);
	close_fd(&session->driver);
	session_lose_run(session, result, r);
}

/* --- events ----------------------------------------------------------------------------------- */

static void take_ready(struct brig_session *session)
{
	struct run *run = session->phase.run;

	channel_forget(&session->channel);
	close_fd(&session->inside);
	close_fd(&run->value);
	close_fd(&session->prepared.spec.devices);
	/* With a provider that interrupts, the peer of the channel is brig itself. */
	if (session->channel.driver > 0 && !run->provider->interrupt) {
		session->driver = sys_pidfd_open(session->channel.driver, 0);
	}
	int r = session_cell_attach(session);
	if (r < 0) {
		brig_session_end(session, "its cell cannot be watched");
		return;
	}
	session_enter(session, SESSION_IDLE);
	run_count_idle(run);
	run_rest(run);
	session_arm(session, SESSION_CHECK_NS);
	session_begin_run(session);
}

void session_pump(struct brig_session *session)
{
	channel_pump(
		&session->channel); /* an error means a closed channel, which reading reports */

	bool writing = channel_wants_write(&session->channel);
	struct epoll_event want = { .events = writing ? EPOLLIN | EPOLLOUT : EPOLLIN,
				    .data = { .u32 = RUN_OWNERS_EVENT } };

	if (writing != session->writing) {
		session->writing = writing;
		epoll_ctl(session->epoll, EPOLL_CTL_MOD, session->channel.fd, &want);
	}
}

/* The channel lets no other answer through; this is for a peer that finds a way. */
static bool is_due(const struct brig_session *session, const struct channel_answer *answer)
{
	return answer->done ? session_has_run(session) : session->state == SESSION_OPENING;
}

static void receive_answer(struct brig_session *session)
{
	struct channel_answer answer;

	struct run *run = session->phase.run;

	/* A cell that could not be built is built again with fewer layers, on this channel. */
	if (run->state >= RUN_ENDING && !run->build_failed) {
		drop_channel(session);
	}
	if (session->channel.fd < 0) {
		return;
	}
	int r = channel_receive(&session->channel, &answer);
	if (r == 1 && !is_due(session, &answer)) {
		r = -EPROTO;
	}
	if (r == 1 && !answer.done) {
		take_ready(session);
	} else if (r == 1) {
		session_finish_run(session, &answer);
	} else if (r < 0) {
		drop_channel(session);
		/*
		 * Closed: it is ending, or another program runs in its place. The end of the cell
		 * gives the reason, and the run's limits ensure that it ends.
		 */
		if (r != -EPIPE) {
			brig_session_end(session,
					 "its code broke into the interpreter's own channel");
		} else if (session->state == SESSION_IDLE) {
			session_arm(session, SESSION_GRACE_NS);
		}
		return;
	}
	session_pump(session);
}

/* Between runs only this checks the cell: threads left behind may use as much as one run. */
static void check_cell(struct brig_session *session)
{
	struct run *run = session->phase.run;

	if (!session->check_ns || clock_now_ns() < session->check_ns) {
		return;
	}
	session->check_ns = run->alarm_ns = 0;
	if (session->channel.fd < 0 && session->state == SESSION_IDLE) {
		brig_session_end(session, "its code closed the interpreter's own channel");
		return;
	}
	if (session->state == SESSION_INTERRUPTED) {
		session_signal(session); /* the first one may have been missed */
	}
	if (session->state != SESSION_IDLE || run->state >= RUN_ENDING) {
		return;
	}
	if (session->current && session->current->inputs) {
		session_put_inputs(session);
		return;
	}
	run_check_idle(run);
	session_arm(session, SESSION_CHECK_NS);
}

/* Events of the driver, the clock and the files. False: the files of a run are collected. */
static bool step_runs(struct brig_session *session)
{
	if (session->state == SESSION_COLLECTING) {
		session_collect(session);
		return false;
	}
	receive_answer(session);
	if (session->state != SESSION_COLLECTING) {
		check_cell(session);
	}
	/* Else other events would count for the run that has ended. */
	return session->state != SESSION_COLLECTING;
}

int brig_session_step(struct brig_session *session)
{
	struct run_section section;

	if (session->state == SESSION_GONE) {
		return 1;
	}
	run_section_enter(session->phase.run, &section);
	bool whole = step_runs(session);
	run_section_leave(&section);
	if (!whole) {
		return 0;
	}
	int r = session_cell_step(session);
	if (r != 0) {
		finish_session(session, r);
	}
	return session->state == SESSION_GONE;
}

int brig_session_interrupt(struct brig_session *session)
{
	if (session->state == SESSION_COLLECTING) {
		return 0; /* it has ended */
	}
	if (session_has_run(session)) {
		session_interrupt(session, ENDING_CANCELLED);
		return 0;
	}
	if (!session->current) {
		return -ESRCH;
	}
	session->current->cancelled = true; /* it has not begun, and will not begin */
	return 0;
}

uint64_t session_idle_cpu_ns(const struct brig_session *session)
{
	const struct run *run = session->phase.run;
	bool idle = run && session->state == SESSION_IDLE;

	return session->lost_cpu_ns + (run ? run->idle_cpu_ns : 0) + (idle ? run->facts.cpu_ns : 0);
}

int brig_session_fd(const struct brig_session *session)
{
	return session->epoll;
}

const char *brig_session_reason(const struct brig_session *session)
{
	return session->state == SESSION_GONE ? session->reason : "";
}
