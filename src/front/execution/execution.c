/* SPDX-License-Identifier: Apache-2.0 */
/* An execution from its start to its end. */
#include "front/execution/execution.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/id.h"
#include "front/execution/execution_internal.h"
#include "front/execution/execution_record.h"
#include "role/log.h"

void execution_free(struct execution *execution)
{
	struct front *front = execution->front;

	loop_timer_clear(&execution->timer);
	loop_timer_clear(&execution->notify);
	unsaved_forget(execution);
	admission_leave(&front->admission, &execution->ticket, 0, 0);
	if (execution->previous) {
		execution->previous->next = execution->next;
	} else {
		front->executions = execution->next;
	}
	if (execution->next) {
		execution->next->previous = execution->previous;
	}
	if (front->close_next == execution) {
		front->close_next = execution->next;
	}
	execution_drop_request(execution);
	output_log_unref(execution->output);
	run_result_done(&execution->result);
	buf_done(&execution->failure);
	block_unref(execution->request);
	free(execution->key);
	free(execution);
}

void execution_fail(struct execution *execution)
{
	invariant(execution_failed(execution));
	execution_drop_request(execution);
	admission_leave(&execution->front->admission, &execution->ticket, 0, 0);
	execution_save(execution);
}

static void engine_output(void *user, int stream, const void *data, size_t size)
{
	struct execution *execution = user;

	output_log_add(execution->output, stream, data, size);
	execution_notify_output(execution);
}

/* Output that has no reader now is read from the result later. */
static void end_output(struct execution *execution)
{
	output_log_end(execution->output);
	if (!execution->listeners) {
		output_log_clear(execution->output);
	}
}

static void engine_result(void *user, struct block *block)
{
	struct execution *execution = user;
	struct front *front = execution->front;
	uint64_t wall_ns = clock_now_ns() - execution->started_ns;

	execution->run = NULL;
	end_output(execution);
	record_result(execution, block);
	record_count(front, execution, wall_ns);
	admission_leave(&front->admission, &execution->ticket, wall_ns,
			execution->result.outcome.cpu_ns);
	execution_save(execution);
}

static void engine_failed(void *user, const struct brig_error *error)
{
	struct execution *execution = user;

	execution->run = NULL;
	end_output(execution);
	problem_of_error(&execution->problem, error);
	if (problem_info(execution->problem.kind)->status >= 500) {
		role_log_often(ROLE_ERROR, "run.failed", error->step, "id=%s step=%s why=%s",
			       execution->id, error->step, error->message);
	}
	execution_fail(execution);
}

static int send_call(struct execution *execution, struct engine_run **ret, struct brig_error *error)
{
	struct engine_call *call = &execution->execution_request->call;

	call->tenant = execution->tenant;
	call->caller = execution->caller;
	call->run.tenant = execution->tenant;
	call->stream = execution->stream;
	call->output = engine_output;
	call->id = execution->id;
	call->result = engine_result;
	call->fail = engine_failed;
	call->user = execution;
	execution->started_ns = clock_now_ns();
	return engine_start(execution->front->engine, call, ret, error);
}

/* The call was sent, or failed; its callbacks come later. `run`: NULL if it failed. */
static void running(struct execution *execution, struct engine_run *run,
		    const struct brig_error *error)
{
	execution_enter(execution, EXECUTION_RUNNING);
	execution->run = run;
	if (run) {
		/* The engine has copied all of it. */
		execution_drop_request(execution);
	} else {
		engine_failed(execution, error);
	}
}

static void start(struct execution *execution)
{
	struct engine_run *run = NULL;
	struct brig_error error = { 0 };

	if (execution->cancelled) {
		execution_enter(execution, EXECUTION_RUNNING);
		problem_set(&execution->problem, PROBLEM_CANCELLED,
			    "it was cancelled before it ran");
		execution_fail(execution);
		return;
	}
	int r = send_call(execution, &run, &error);
	running(execution, r < 0 ? NULL : run, &error);
}

static void recorded_start(void *user, const struct brig_error *error, const char *data,
			   size_t size)
{
	struct execution *execution = user;

	(void)data;
	(void)size;
	record_ledger_answer(execution->front, error);
	if (error) {
		problem_set(&execution->problem, PROBLEM_LEDGER_UNAVAILABLE,
			    "its start could not be recorded, so it was not started");
		execution_fail(execution);
	} else {
		start(execution);
	}
}

/* The call to the ledger failed before it was sent: nothing is known about the ledger's disk. */
static void unrecorded_start(struct execution *execution, int r)
{
	record_refused(r, &execution->problem);
	execution_fail(execution);
}

/* No client waits for this record; but a failure to write it must be noticed. */
static void ledger_answered(void *user, const struct brig_error *error, const char *data,
			    size_t size)
{
	(void)data;
	(void)size;
	record_ledger_answer(user, error);
}

/* The start of a queued run is recorded before it starts, so that it never runs a second time. */
static void start_recorded(struct execution *execution)
{
	int r = ledger_started(execution->front->ledger, execution->id, recorded_start, execution);

	if (r < 0) {
		unrecorded_start(execution, r);
	}
}

/*
 * A client waits, and a crash ends the run for good: the call is sent first, so that the warden has
 * begun before the ledger needs a processor. The record follows in any case, also of a call that
 * failed. A record that cannot be sent at all is noticed before the call, but for a lack of memory;
 * one that the ledger has no room for is sent again with that of the end.
 */
static void start_at_once(struct execution *execution)
{
	struct front *front = execution->front;
	bool known = execution_recorded(execution);
	struct engine_run *run = NULL;
	struct brig_error error = { 0 };
	int r = known ? 0 : record_begin_check(execution);

	if (r < 0) {
		unrecorded_start(execution, r);
		return;
	}
	if (!known) {
		record_begin_keep(execution);
	}
	bool sent = send_call(execution, &run, &error) == 0;
	if (known) {
		ledger_started(front->ledger, execution->id, ledger_answered, front);
	} else {
		r = record_begin(execution, ledger_answered, front);
	}
	if (r < 0) {
		if (sent) {
			engine_forget(run);
		}
		unrecorded_start(execution, r);
		return;
	}
	running(execution, sent ? run : NULL, &error);
}

/* Its turn. */
static void granted(void *user)
{
	struct execution *execution = user;

	loop_timer_clear(&execution->timer);
	execution_enter(execution, EXECUTION_STARTING);
	if (execution->kind == EXECUTION_QUEUED) {
		start_recorded(execution);
	} else {
		start_at_once(execution);
	}
}

/* Its turn came too late: runs before it have used up the quota. */
static void not_granted(void *user, const struct problem *problem)
{
	struct execution *execution = user;

	execution->problem = *problem;
	execution_fail(execution);
}

/* The reader has not come back, or the time in the queue is over. */
static void due(void *user)
{
	struct execution *execution = user;
	bool expires = execution->state == EXECUTION_WAITING && execution->kind != EXECUTION_QUEUED;

	if (expires && clock_now_ns() >= execution->queue_deadline_ns) {
		problem_set(&execution->problem, PROBLEM_QUEUE_TIMEOUT,
			    "timed out waiting in the queue");
		execution->problem.retry_s = admission_retry_s(&execution->front->admission);
		execution_fail(execution);
	} else if (!execution->listeners) {
		execution_cancel(execution);
	} else if (expires) {
		loop_timer_set(execution->front->loop, &execution->timer,
			       execution->queue_deadline_ns);
	}
}

static void enter_queue(struct execution *execution)
{
	struct front *front = execution->front;

	execution_enter(execution, EXECUTION_WAITING);
	if (execution->kind != EXECUTION_QUEUED) {
		execution->queue_deadline_ns = clock_now_ns() + front->admission.limits.queue_ns;
		loop_timer_set(front->loop, &execution->timer, execution->queue_deadline_ns);
	}
	admission_enter(&front->admission, &execution->ticket);
}

static void begun(void *user, const struct brig_error *error, const char *data, size_t size)
{
	struct execution *execution = user;
	char existing_id[27] = "";
	bool same = false;
	struct problem problem = { 0 };

	record_ledger_answer(execution->front, error);
	if (error || record_existing(data, size, existing_id, &same) < 0) {
		problem_set(&problem, PROBLEM_LEDGER_UNAVAILABLE, "it could not be recorded");
		problem.retry_s = 2;
	}
	execution->begun(execution->user, problem.kind ? &problem : NULL,
			 existing_id[0] ? existing_id : NULL, same);
	if (problem.kind || existing_id[0]) {
		execution_free(execution);
	} else if (execution->cancelled) {
		problem_set(&execution->problem, PROBLEM_CANCELLED,
			    "it was cancelled before it ran");
		execution_fail(execution);
	} else {
		enter_queue(execution);
	}
}

static int copy_submission(struct execution *execution, const struct submission *submission)
{
	memcpy(execution->tenant, submission->caller->tenant, sizeof(execution->tenant));
	memcpy(execution->caller, submission->caller->name, sizeof(execution->caller));
	execution->kind = submission->queued      ? EXECUTION_QUEUED
			  : submission->resumable ? EXECUTION_RESUMABLE
						  : EXECUTION_ATTACHED;
	execution->stream = submission->stream || submission->queued;
	execution->begun = submission->begun;
	execution->user = submission->user;
	record_digests(execution, submission);
	if (submission->key && !(execution->key = strdup(submission->key))) {
		return -ENOMEM;
	}
	if (submission->queued && !submission->forced) {
		execution->request = submission->text
					     ? block_ref(submission->text)
					     : block_copy(submission->body, submission->body_size);
		if (!execution->request) {
			return -ENOMEM;
		}
		execution->request_size = submission->body_size;
	}
	execution->body_size = submission->queued ? 0 : submission->body_size;
	if (submission->id) {
		memcpy(execution->id, submission->id, sizeof(execution->id));
		return 0;
	}
	return id_make(execution->id);
}

static void link_in(struct execution *execution)
{
	struct front *front = execution->front;

	execution->next = front->executions;
	if (execution->next) {
		execution->next->previous = execution;
	}
	front->executions = execution;
}

/* Everything that may refuse it. It is in the list, and is freed on failure. */
static int admit(struct execution *execution, const struct submission *submission,
		 struct problem *problem)
{
	struct front *front = execution->front;
	int r = submission->forced ? 0 : record_room(front, problem);

	if (r < 0) {
		return r;
	}
	r = execution_bound_queued(front, submission, problem);
	if (r < 0) {
		return r;
	}
	if (copy_submission(execution, submission) < 0) {
		return problem_set(problem, PROBLEM_MEMORY_LOW, "no memory for the request");
	}
	r = admission_reserve(&front->admission, submission->caller, submission->forced,
			      &execution->ticket, problem);
	if (r < 0 || submission->forced || !execution_recorded(execution)) {
		return r;
	}
	execution_enter(execution, EXECUTION_RECORDING);
	r = record_begin(execution, begun, execution);
	return r < 0 ? record_refused(r, problem) : 0;
}

int execution_new(struct front *front, const struct submission *submission, struct execution **ret,
		  struct problem *problem)
{
	struct execution *execution = calloc(1, sizeof(*execution));
	struct output_log *output =
		output_log_new(admission_output(&front->admission, submission->caller->tenant));

	if (!execution || !output) {
		output_log_unref(output);
		free(execution);
		execution_request_free(submission->execution_request);
		return problem_set(problem, PROBLEM_MEMORY_LOW, "no memory for the request");
	}
	execution->front = front;
	execution->output = output;
	execution->execution_request = submission->execution_request;
	execution->ticket.granted = granted;
	execution->ticket.refused = not_granted;
	execution->ticket.user = execution;
	execution->timer.due = due;
	execution->timer.user = execution;
	link_in(execution);
	int r = admit(execution, submission, problem);
	if (r < 0) {
		execution_free(execution);
		return r;
	}
	*ret = execution;
	return 0;
}

void execution_submit(struct execution *execution)
{
	if (execution->state == EXECUTION_NEW) {
		enter_queue(execution);
	}
}

const char *execution_id(const struct execution *execution)
{
	return execution->id;
}

struct output_log *execution_output(const struct execution *execution)
{
	return execution->output;
}

const char *execution_tenant(const struct execution *execution)
{
	return execution->tenant;
}

void execution_pause(struct execution *execution, bool paused)
{
	enum execution_state state = paused ? EXECUTION_PAUSED : EXECUTION_RUNNING;

	if (execution->run && execution->state != state) {
		execution_enter(execution, state);
		engine_pause(execution->run, paused);
	}
}

void execution_cancel(struct execution *execution)
{
	execution->cancelled = true;
	if (execution->state == EXECUTION_WAITING) {
		problem_set(&execution->problem, PROBLEM_CANCELLED,
			    "it was cancelled before it ran");
		execution_fail(execution);
	} else if (execution->run) {
		execution_pause(execution, false);
		engine_cancel(execution->run);
	}
	/* In other states, the next step checks `cancelled`. */
}

const struct run_result *execution_result(const struct execution *execution,
					  const struct problem **ret_problem)
{
	bool excused = execution->state == EXECUTION_EXCUSED;

	*ret_problem = excused ? &execution->excuse : &execution->problem;
	return excused || execution_failed(execution) ? NULL : &execution->result;
}

bool execution_unfinished(const struct execution *execution)
{
	return execution->state != EXECUTION_WAITING || execution->kind != EXECUTION_QUEUED;
}
