/* SPDX-License-Identifier: Apache-2.0 */
/* One run in a session: sent to the driver, interrupted, ended. See session.h. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "kernel/sys.h"
#include "lib/guard/value.h"
#include "lib/remedy.h"
#include "lib/session/session.h"

#define NO_LIMIT (1ull << 62)

#ifndef PIDFD_SIGNAL_PROCESS_GROUP
#define PIDFD_SIGNAL_PROCESS_GROUP (1u << 2)
#endif

/* --- the beginning -------------------------------------------------------------------------- */

static struct run_options options_of(const struct brig_session *session,
				     const struct session_run *run)
{
	const struct prepared *p = &session->prepared;
	const struct brig_request *request = &run->request;

	return (struct run_options){
		.id = request->id,
		.spec = &p->spec,
		.groups = session->context->groups,
		.watchdog = session->context->watchdog,
		.checked_files = &session->context->checked_files,
		.filter = p->policy->filter.count ? &p->policy->filter : NULL,
		.cut_output = p->policy->on_output_limit == OUTPUT_CUT,
		.end_after = p->policy->monitor.end_after,
		.collect = {
			.globs = request->out,
			.bytes_max = p->policy->files_out_bytes,
			.count_max = p->policy->files_out_count,
		},
		.keep_output = !request->discard_output,
		.on_output = request->on_output,
		.user = request->user,
		.session = &session->link,
		.watch = p->watch,
		.monitor = p->monitor.on ? &p->monitor : NULL,
	};
}

static void finish(struct brig_session *session, const struct channel_answer *answer);
static void end_run(struct brig_session *session, struct brig_result *result, int r);

static void begin_run(struct brig_session *session, struct session_run *run)
{
	if (run->inputs && !run->cancelled) {
		session_arm(session, 1); /* in the next step, so that other work comes first */
		return;
	}
	session->limits = session->prepared.spec.limits = run->limits;
	session->interrupted = ENDING_NONE;
	session_enter(session, SESSION_BUSY);
	session_arm(session, 0);
	struct run_options options = options_of(session, run);
	int r = run_resume(session->phase.run, &options);
	if (r == 0 && run->cancelled) {
		session->phase.run->facts.ending = ENDING_CANCELLED;
		finish(session, &(struct channel_answer){ .value = "" });
		return;
	}
	if (r == 0) {
		r = channel_send_run(&session->channel, &run->request);
	}
	buf_done(&run->code);
	buf_done(&run->input);
	if (r < 0) {
		brig_session_end(session, "there was no memory for its run");
		return;
	}
	if (run->paused) {
		(void)run_pause(session->phase.run, true);
	}
	session_pump(session);
}

void session_begin_run(struct brig_session *session)
{
	struct run_section section;

	/* In a cell that is ending no run begins: it ends with the cell. */
	if (session->current && session->state == SESSION_IDLE &&
	    session->phase.run->state < RUN_ENDING) {
		run_section_enter(session->phase.run, &section);
		begin_run(session, session->current);
		run_section_leave(&section);
	}
}

/* The session stays as it was, except for the files that were already written. */
static void fail_to_begin(struct brig_session *session, int r)
{
	session_arm(session, SESSION_CHECK_NS);
	end_run(session, NULL, r);
}

void session_put_inputs(struct brig_session *session)
{
	struct session_run *run = session->current;
	int r = run->cancelled ? 1 : session_inputs_step(run->inputs, session, &run->error);

	if (r != 0) {
		session_inputs_free(TAKE_PTR(run->inputs));
	}
	if (r < 0) {
		fail_to_begin(session, r);
		return;
	}
	session_begin_run(session);
}

/* --- interruption --------------------------------------------------------------------------- */

/* The driver leads its own process group from its start, and cannot leave it. */
void session_signal(const struct brig_session *session)
{
	pid_t pid = session->channel.driver;
	struct run *run = session->phase.run;

	if (run->provider->interrupt) {
		(void)run->provider->interrupt(run);
		return;
	}
	if (session->driver < 0) {
		return;
	}
	if (syscall(SYS_pidfd_send_signal, session->driver, SIGINT, NULL,
		    PIDFD_SIGNAL_PROCESS_GROUP) == 0) {
		return;
	}
	/* Before 6.9: by number, while the pidfd shows that it is still the same process. */
	if (sys_pidfd_send_signal(session->driver, 0) == 0 && pid > 1) {
		kill(-pid, SIGINT);
	}
}

void session_interrupt(struct brig_session *session, enum ending why)
{
	struct run *run = session->phase.run;
	struct brig_limits *limits = &session->prepared.spec.limits;

	session_signal(session);
	if (session->state == SESSION_INTERRUPTED) {
		return;
	}
	session_enter(session, SESSION_INTERRUPTED);
	session->interrupted = why;
	run->facts.ending = why;
	/* From now on the grace period is the limit. */
	uint64_t grace_ns = run->provider->answer_ns ? run->provider->answer_ns : SESSION_GRACE_NS;
	limits->wall_ns = clock_now_ns() - run->watch.start_ns + grace_ns;
	limits->cpu_ns = NO_LIMIT;
	run_arm(run);
	session_arm(session, SESSION_GRACE_NS / 2);
}

enum ending session_due(void *user, enum ending why)
{
	struct brig_session *session = user;
	bool output = why == ENDING_STDOUT || why == ENDING_STDERR;

	if (!session_has_run(session)) {
		return output ? ENDING_NONE : why;
	}
	if (why != ENDING_WALL && why != ENDING_CPU && !output) {
		return why;
	}
	if (session->state == SESSION_BUSY) {
		session_interrupt(session, why);
		return ENDING_NONE;
	}
	return output ? ENDING_NONE : session->interrupted;
}

/* --- the end -------------------------------------------------------------------------------- */

/* With its result; NULL and `r`: it failed. */
static void end_run(struct brig_session *session, struct brig_result *result, int r)
{
	struct session_run *run = TAKE_PTR(session->current);
	uint64_t one = 1;

	if (result) {
		session_describe(session, result);
		result->limits = session->limits;
		if (strcmp(result->limit_name, "wall_ms") == 0) {
			result->limit = session->limits.wall_ns;
		}
	}
	if (!run) {
		session->lost_cpu_ns += result ? result->usage.cpu_ns : 0;
		brig_result_free(result);
		return;
	}
	if (result) {
		/* The cell may have ended before the run began: with an id of its own. */
		memcpy(result->id, run->request.id, sizeof(result->id));
		remedy_limit(&(struct remedy_for){ .policy = session->prepared.policy,
						   .most = run->request.limits_most },
			     result);
	}
	run->result = result;
	run->end = result ? 1 : r < 0 ? r : -EIO;
	if (write(run->ended, &one, sizeof(one)) < 0) {
		run->end = -errno;
	}
}

static void take_answer(const struct brig_session *session, const struct channel_answer *answer,
			struct brig_result *result)
{
	const struct guard *guard = &session->prepared.guard;

	if (answer->refused) {
		guard_take_refused(guard, answer->value, answer->value_size, result);
	} else if (answer->stopped) {
		guard_take_stopped(guard, answer->value, answer->value_size, result);
	} else if (result->status == BRIG_OK) {
		result->value_json =
			value_check(answer->value, answer->value_size, &result->value_repr);
	}
}

/* The result is complete, or there is none: the driver is free for the next run. */
static void finish_round(struct brig_session *session, struct brig_result *result, int r)
{
	session_enter(session, SESSION_IDLE);
	session->interrupted = ENDING_NONE;
	if (result) {
		take_answer(session, &session->answer, result);
	}
	channel_forget(&session->channel);
	run_round_forget(session->phase.run);
	if (r == 0) {
		r = run_rest(session->phase.run);
	}
	session_arm(session, SESSION_CHECK_NS);
	end_run(session, result, r);
	if (r < 0) {
		brig_session_end(session, "there was no memory for a run's result");
	}
}

void session_collect(struct brig_session *session)
{
	struct brig_result *result = NULL;
	int r = run_round_result(session->phase.run, &result);

	if (r != 0) {
		finish_round(session, result, r < 0 ? r : 0);
	}
}

static void finish(struct brig_session *session, const struct channel_answer *answer)
{
	session->prepared.spec.limits = session->limits;
	session->answer = *answer;
	int r = run_round_end(session->phase.run, answer->status);
	if (r < 0) {
		finish_round(session, NULL, r);
		return;
	}
	session_enter(session, SESSION_COLLECTING);
	session_collect(session);
}

void session_finish_run(struct brig_session *session, const struct channel_answer *answer)
{
	finish(session, answer);
}

void session_lose_run(struct brig_session *session, struct brig_result *result, int r)
{
	end_run(session, result, r);
}

int session_run_step(struct session_run *run, struct brig_error *err)
{
	if (run->end == 0) {
		brig_session_step(run->session);
	}
	if (run->end < 0 && err) {
		*err = run->error.message[0] ? run->error : run->session->error;
		if (!err->message[0]) {
			error_set(err, BRIG_E_SYSTEM, -run->end, "the session is gone: %s",
				  run->session->reason);
		}
	}
	return run->end;
}

void session_run_cancel(struct session_run *run)
{
	struct brig_session *session = run->session;

	if (run->end || session->current != run) {
		return;
	}
	if (session_has_run(session)) {
		session_interrupt(session, ENDING_CANCELLED);
	} else if (session->state != SESSION_COLLECTING) {
		run->cancelled = true; /* as soon as there is something to interrupt */
	}
}

void session_run_pause(struct session_run *run, bool paused)
{
	struct brig_session *session = run->session;

	run->paused = paused;
	if (session->current == run && session_is_busy(session)) {
		run_pause(session->phase.run, paused);
	}
}

/* The handle is freed, and so is everything that it has lent to the cell. */
static void abandon(struct session_run *run)
{
	struct brig_session *session = run->session;
	struct run *cell = session->phase.run;

	if (session_is_busy(session)) {
		run_round_forget(cell);
		cell->out[0].keep = cell->out[1].keep = false;
		run_pause(cell, false);
	}
	if (session_has_run(session)) {
		session_interrupt(session, ENDING_CANCELLED);
	}
	session->current = NULL;
}

void session_run_free(struct session_run *run)
{
	if (!run) {
		return;
	}
	if (run->session) {
		struct run_section section;

		if (run->session->current == run) {
			abandon(run);
		}
		run_section_enter(run->session->phase.run, &section);
		session_inputs_free(TAKE_PTR(run->inputs));
		run_section_leave(&section);
		session_unuse(run->session);
	}
	session_inputs_free(run->inputs);
	buf_done(&run->code);
	buf_done(&run->input);
	strlist_done(&run->args);
	strlist_done(&run->globs);
	brig_result_free(run->result);
	close_fd(&run->ended);
	free(run);
}
