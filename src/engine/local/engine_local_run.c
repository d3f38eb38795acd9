/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of the local engine, in cells of their own and in sessions. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "engine/local/engine_local.h"
#include "lib/api/api_run.h"
#include "lib/api/result_writer.h"

static void count_network(struct local *local, const struct brig_result *result)
{
	for (size_t i = 0; i < result->connections_count; i++) {
		const struct brig_connection *connection = &result->connections[i];
		bool allowed = strcmp(connection->verdict, "allowed") == 0;

		local->counts.connections += allowed;
		local->counts.refused += !allowed;
		local->counts.up_bytes += connection->bytes_up;
		local->counts.down_bytes += connection->bytes_down;
	}
	local->counts.untold += result->connections_untold;
}

static void count_provider(struct local *local, const struct brig_result *result)
{
	for (size_t i = 0; providers[i]; i++) {
		local->counts.providers[i] += strcmp(providers[i]->name, result->provider) == 0;
	}
}

static void count_end(struct local *local, const struct brig_result *result)
{
	local->counts.running--;
	local->counts.ended++;
	local->counts.failed += result && result->status != BRIG_OK;
	local->counts.cancelled += result && result->status == BRIG_CANCELLED;
	if (result) {
		count_provider(local, result);
	}
}

/*
 * Its cost is in its result, by which the caller is charged; unless the result is sent to nobody.
 */
static void bill_run(struct engine_run *run, const struct brig_result *result)
{
	if (!result) {
		local_bill(run->local, run->tenant, run->caller, run->run->compile_cpu_ns);
	} else if (run->forgotten || run->unseen) {
		local_bill(run->local, run->tenant, run->caller, result->usage.cpu_ns);
	}
}

static void take_result(struct engine_run *run)
{
	struct brig_result *result = brig_run_take_result(run->run);

	bill_run(run, result);
	local_turn_left(run, result ? result->usage.cpu_ns : 0);
	count_end(run->local, result);
	if (result) {
		count_network(run->local, result);
	}
	if (result && run->session) {
		local_session_touch(run->session);
		local_session_expires(run->session, result->expires_at, sizeof(result->expires_at));
	}
	run->written = result;
	brig_run_free(run->run);
	run->run = NULL;
	local_call_enter(run, CALL_WRITING);
}

/* Writes a slice of the result's JSON. Other work is done before the next slice. */
static void write_result(void *user)
{
	struct engine_run *run = user;
	uint64_t began_ns = share_clock_ns();
	int r = result_writer_step(run->writer);

	if (r > 0) {
		r = loop_timer_set(run->local->loop, &run->answered,
				   local_turn_over(run, began_ns));
		if (r == 0) {
			return;
		}
	}
	run->block = r == 0 ? result_writer_take(run->writer) : NULL;
	if (!run->block) {
		local_call_enter(run, CALL_FAILED);
		error_set(&run->error, BRIG_E_SYSTEM, r < 0 ? -r : ENOMEM,
			  "no memory for the result");
	}
	local_finish(run);
}

/* The run has ended. A short result takes one slice. */
static void begin_to_write(struct engine_run *run)
{
	int r = run->written ? result_writer_new(run->written, OUTCOME_JSON_MAX, true, &run->writer)
			     : -ENOMEM;

	if (r < 0) {
		local_call_enter(run, CALL_FAILED);
		error_set(&run->error, BRIG_E_SYSTEM, ENOMEM, "no memory for the result");
		local_finish(run);
		return;
	}
	run->answered.due = write_result;
	run->answered.user = run;
	write_result(run);
}

static void step(void *user, uint32_t events)
{
	struct engine_run *run = user;
	uint64_t began_ns = share_clock_ns();
	int r = brig_run_step(run->run, &run->error);

	(void)events;
	if (r == 0) {
		local_turn_hold(run, began_ns);
		return;
	}
	loop_remove(run->source);
	run->source = NULL;
	if (r < 0) {
		bill_run(run, NULL);
		local_turn_left(run, run->run->compile_cpu_ns);
		count_end(run->local, NULL);
		local_call_enter(run, CALL_FAILED);
	} else {
		take_result(run);
	}
	if (run->session) {
		local_session_occupy(run->session, NULL);
		run->session = NULL;
	}
	if (run->state == CALL_FAILED) {
		local_finish(run);
	} else {
		begin_to_write(run);
	}
}

static void pass_output(void *user, int stream, const void *data, size_t size)
{
	struct engine_run *run = user;

	if (!run->forgotten) {
		run->output(run->user, stream, data, size);
	}
}

/* Clears fields that a tenant may not set, whatever the call contains. */
static struct brig_request request_of(const struct engine_call *call, struct engine_run *run)
{
	struct brig_request request = call->run;

	request.size = sizeof(request);
	request.file = NULL;
	request.command = NULL;
	request.mounts_listed = true;
	request.network_own = false; /* only as in the policy */
	request.stdin_feed = false;
	request.tenant = call->tenant;
	request.id = run->id[0] ? run->id : NULL;
	request.on_output = run->stream ? pass_output : NULL;
	request.user = run;
	request.discard_output = false;
	return request;
}

static int check_language(const struct local_session *session, const struct brig_request *request,
			  struct brig_error *err)
{
	const struct runtime *runtime = session->session->prepared.runtime;

	if (!request->language || strcmp(request->language, runtime->name) == 0 ||
	    strlist_has(&runtime->aliases, request->language)) {
		return 0;
	}
	return error_set(err, BRIG_E_INPUT, EINVAL, "the session's language is %s, not %.31s",
			 runtime->name, request->language);
}

/*
 * A session keeps its policy: a run that needs another one, or may not use this one, is rejected.
 */
static int check_policy(const struct local_session *session, const struct engine_call *call,
			struct brig_error *err)
{
	const char *const *allowed = call->policies;

	if (call->run.policy && strcmp(call->run.policy, session->policy) != 0) {
		int r = error_set(err, BRIG_E_INPUT, EINVAL,
				  "the session was opened with policy %s, and keeps it",
				  session->policy);
		error_remedy(err, "choose the policy when the session is opened");
		return r;
	}
	while (allowed && *allowed && strcmp(*allowed, session->policy) != 0) {
		allowed++;
	}
	return !allowed || *allowed
		       ? 0
		       : error_set(err, BRIG_E_POLICY, EACCES,
				   "the session has policy %s, which is not for this token",
				   session->policy);
}

static int start_in_session(struct local *local, const struct engine_call *call,
			    const struct brig_request *request, struct engine_run *run,
			    struct brig_error *err)
{
	struct local_session *session = local_session_find(local, call, err);

	if (!session) {
		return err && err->errnum ? -err->errnum : -ENOENT;
	}
	int r = check_language(session, request, err);
	if (r < 0) {
		return r;
	}
	r = check_policy(session, call, err);
	if (r < 0) {
		return r;
	}
	/* libbrig may know of the end of a run that is not over here: its tenant has to wait. */
	if (session->state == LOCAL_SESSION_BUSY) {
		error_set(err, BRIG_E_INPUT, EBUSY, "a run is under way in the session");
		error_remedy(err, "wait for its end, or interrupt it");
		return -EBUSY;
	}
	r = brig_session_start(session->session, request, &run->run, err);
	if (r < 0) {
		return r;
	}
	run->session = session;
	local_session_occupy(session, run);
	session->runs++;
	local_session_touch(session);
	return 0;
}

static void report_begun(const struct engine_run *run, const struct engine_call *call)
{
	if (run->local->options.begun && !run->unseen) {
		run->local->options.begun(
			&(struct engine_begun){ .id = run->run->id,
						.session = call->session,
						.tenant = run->tenant,
						.cell = brig_run_cell(run->run) });
	}
}

int local_begin(struct engine_run *run, const struct engine_call *call, struct brig_error *err)
{
	struct local *local = run->local;
	struct brig_request request = request_of(call, run);

	for (size_t i = 0; i < request.files_count; i++) {
		if (request.files[i].path) {
			return error_set(err, BRIG_E_INPUT, EINVAL,
					 "input files must be sent with their content");
		}
	}
	local->context->shared = call->block;
	int r = call->session ? start_in_session(local, call, &request, run, err)
			      : brig_run_start(local->context, &request, &run->run, err);
	local->context->shared = NULL;
	if (r < 0) {
		return r;
	}
	r = loop_add(local->loop, brig_run_fd(run->run), EPOLLIN, step, run, &run->source);
	if (r < 0) {
		return error_errno(err, BRIG_E_SYSTEM, -r, "cannot watch the run");
	}
	report_begun(run, call);
	local->counts.started++;
	local->counts.running++;
	local_turn_begun(run);
	return 0;
}

int local_execute(struct local *local, const struct engine_call *call, struct engine_run *run,
		  struct brig_error *err)
{
	/* Runs that already wait come first: a cell may have become ready since the last check. */
	local_wait_look(local);
	if (!call->session && local_wait_is_worth(local, call)) {
		return local_wait(run, call, err);
	}
	return local_begin(run, call, err);
}
