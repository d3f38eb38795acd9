/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine in front of the engine, for forks. A fork of a session runs code in both sessions, so
 * it waits for its turn like any run, within the caller's quota and concurrency, and is written
 * into the audit chain. All other calls pass straight through. A fork is charged with the usage
 * that the warden reports (session_watch.c).
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json/json_out.h"
#include "front/execution/engine_relay.h"

struct engine_run {
	struct relay_call call;
	struct ticket ticket;
	struct loop_timer timer;                     /* joins the queue; later: the longest wait */
	struct execution_request *execution_request; /* owned until it has started */
	struct caller caller;
	char session[65];
	uint64_t started_ns;
};

static struct front *front_of(const struct engine_run *run)
{
	return relay_of(run)->front;
}

static void run_free(struct engine_run *run)
{
	struct front *front = front_of(run);
	uint64_t wall_ns = run->started_ns ? clock_now_ns() - run->started_ns : 0;

	loop_timer_clear(&run->timer);
	admission_leave(&front->admission, &run->ticket, wall_ns, 0);
	execution_request_free(run->execution_request);
	relay_call_free(&run->call);
	front_check_drained(front);
}

static void fail(struct engine_run *run, const struct brig_error *error)
{
	run->call.fail(run->call.user, error);
	run_free(run);
}

static void refused(void *user, const struct problem *problem)
{
	struct brig_error error = { 0 };

	problem_to_error(problem, &error);
	fail(user, &error);
}

static void audit(const struct engine_run *run, const char *data, size_t size)
{
	struct buf facts = { 0 };
	struct json_out json = { .buf = &facts };
	json_t *answer = json_loadb(data, size, 0, NULL);

	json_open(&json, NULL, '{');
	json_text(&json, "caller", run->caller.name);
	json_text(&json, "session", json_string_value(json_object_get(answer, "id")));
	json_text(&json, "forked_from", run->session);
	json_close(&json, '}');
	ledger_audit(front_of(run)->ledger, "session.fork", run->caller.tenant,
		     facts.data ? facts.data : "{}", NULL, NULL);
	json_decref(answer);
	buf_done(&facts);
}

static void inner_end(void *user, const char *data, size_t size)
{
	struct engine_run *run = user;

	run->call.inner = NULL;
	audit(run, data, size);
	run->call.end(run->call.user, data, size);
	run_free(run);
}

static void inner_fail(void *user, const struct brig_error *error)
{
	struct engine_run *run = user;

	run->call.inner = NULL;
	fail(run, error);
}

static void granted(void *user)
{
	struct engine_run *run = user;
	struct engine_call *call = &run->execution_request->call;
	struct brig_error error = { 0 };

	loop_timer_clear(&run->timer);
	run->started_ns = clock_now_ns();
	call->tenant = call->run.tenant = run->caller.tenant;
	call->caller = run->caller.name;
	call->end = inner_end;
	call->fail = inner_fail;
	call->user = run;
	if (engine_start(relay_of(run)->inner, call, &run->call.inner, &error) < 0) {
		inner_fail(run, &error);
	}
}

static void too_late(void *user)
{
	struct engine_run *run = user;
	struct problem problem = { 0 };

	problem_set(&problem, PROBLEM_QUEUE_TIMEOUT, "timed out waiting in the queue");
	problem.retry_s = admission_retry_s(&front_of(run)->admission);
	refused(run, &problem);
}

/* Not before start() has returned: callbacks come later than that. */
static void enter_queue(void *user)
{
	struct engine_run *run = user;
	struct front *front = front_of(run);

	run->timer.due = too_late;
	(void)loop_timer_set(front->loop, &run->timer,
			     clock_now_ns() + front->admission.limits.queue_ns);
	admission_enter(&front->admission, &run->ticket);
}

static int reserve(const struct engine_call *call, struct engine_run *run, struct brig_error *error)
{
	struct front *front = front_of(run);
	struct problem problem = { 0 };

	if (!auth_recall(&front->auth, call->tenant, call->caller ? call->caller : "",
			 &run->caller)) {
		return error_set(error, BRIG_E_POLICY, EACCES, "the caller is not known");
	}
	int r = execution_request_copy(call, &run->execution_request);
	if (r < 0) {
		return error_errno(error, BRIG_E_SYSTEM, -r, "the request cannot be copied");
	}
	if (admission_reserve(&front->admission, &run->caller, false, &run->ticket, &problem) < 0) {
		problem_to_error(&problem, error);
		return -EAGAIN;
	}
	r = loop_timer_set(front->loop, &run->timer, clock_now_ns());
	return r < 0 ? error_errno(error, BRIG_E_SYSTEM, -r, "no memory for a call") : 0;
}

static int start(struct engine *engine, const struct engine_call *call, struct engine_run **ret,
		 struct brig_error *error)
{
	struct brig_error unused = { 0 };

	if (call->op != ENGINE_SESSION_FORK) {
		return engine_start(((struct relay *)(void *)engine)->inner, call, ret, error);
	}
	struct engine_run *run = relay_call_new(engine, sizeof(*run), call);
	if (!run) {
		return error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory for a call");
	}
	run->ticket.granted = granted;
	run->ticket.refused = refused;
	run->ticket.user = run;
	run->timer.due = enter_queue;
	run->timer.user = run;
	snprintf(run->session, sizeof(run->session), "%s", call->session ? call->session : "");
	int r = reserve(call, run, error ? error : &unused);
	if (r < 0) {
		run_free(run);
		return r;
	}
	*ret = run;
	return 0;
}

static void cancel(struct engine_run *run)
{
	struct brig_error error = { 0 };

	if (run->call.inner) {
		engine_cancel(run->call.inner);
	} else {
		error_set(&error, BRIG_E_INPUT, ECANCELED, "the fork was cancelled");
		fail(run, &error);
	}
}

static void forget(struct engine_run *run)
{
	if (run->call.inner) {
		engine_forget(run->call.inner);
	}
	run_free(run);
}

static void free_engine(struct engine *engine)
{
	relay_free((struct relay *)(void *)engine);
}

void fork_engine_close(struct engine *engine)
{
	struct relay *relay = (struct relay *)(void *)engine;
	struct problem problem = { 0 };

	problem_set(&problem, PROBLEM_UNAVAILABLE, "the service is shutting down");
	problem.retry_s = 2;
	/* The answer to one call may free others: relay_call_free() moves close_next on. */
	for (struct relay_call *call = relay->calls; call; call = relay->close_next) {
		struct engine_run *run = (struct engine_run *)(void *)call;

		relay->close_next = call->next;
		if (!run->started_ns) {
			refused(run, &problem);
		}
	}
	relay->close_next = NULL;
}

int fork_engine_new(struct front *front, struct engine *inner, struct engine **ret)
{
	static const struct engine_class class = { .start = start,
						   .cancel = cancel,
						   .forget = forget,
						   .pause = relay_pause,
						   .free = free_engine };
	struct relay *relay = relay_new(sizeof(*relay), &class, front, inner);

	if (!relay) {
		return -ENOMEM;
	}
	*ret = &relay->engine;
	return 0;
}
