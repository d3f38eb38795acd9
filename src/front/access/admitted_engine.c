/* SPDX-License-Identifier: Apache-2.0 */
/* An engine in front of the engine: checks callers, queues their runs and has them recorded. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "base/json/json_out.h"
#include "front/access/admitted.h"
#include "front/request/execution_request_parts.h"

static struct admitted *owner_of(struct engine_run *run)
{
	return (struct admitted *)(void *)run->engine;
}

void admitted_run_free(struct engine_run *run)
{
	struct admitted *admitted = owner_of(run);

	loop_timer_clear(&run->soon);
	execution_unlisten(&run->listener);
	list_remove(&admitted->runs, &run->node);
	free(run);
}

struct engine_run *admitted_run_new(struct admitted *admitted, const struct engine_call *call)
{
	struct engine_run *run = calloc(1, sizeof(*run));

	if (!run) {
		return NULL;
	}
	run->engine = &admitted->engine;
	run->output = call->stream ? call->output : NULL;
	run->end = call->end;
	run->result = call->result;
	run->fail = call->fail;
	run->user = call->user;
	list_prepend(&admitted->runs, &run->node);
	return run;
}

/* A local user's name is also its tenant; a token has a tenant of its own. */
bool admitted_caller(const struct front *front, const char *caller_name, struct caller *ret)
{
	bool known = auth_recall(&front->auth, caller_name, caller_name, ret);

	if (ret->token) {
		memcpy(ret->tenant, ret->token->tenant, sizeof(ret->tenant));
	}
	/* The token that a caller presented is available only while its request is handled. */
	if (front->mcp_caller && strcmp(front->mcp_caller->name, ret->name) == 0) {
		memcpy(ret->presented, front->mcp_caller->presented, sizeof(ret->presented));
	}
	return known;
}

static void pass_output(struct engine_run *run, const struct execution *execution)
{
	struct output_part part;

	while (run->output && output_log_next(execution_output(execution), &run->position, &part)) {
		run->output(run->user, part.stream, part.data, part.size);
	}
}

static void more(void *user)
{
	struct engine_run *run = user;

	pass_output(run, run->listener.execution);
}

static void ended(void *user, struct execution *execution)
{
	struct engine_run *run = user;
	const struct problem *problem;
	struct brig_error error = { 0 };
	const struct run_result *result = execution_result(execution, &problem);

	pass_output(run, execution);
	if (result && run->result) {
		run->result(run->user, result->block);
	} else if (result) {
		run->end(run->user, run_result_json(result), run_result_size(result));
	} else {
		problem_to_error(problem, &error);
		run->fail(run->user, &error);
	}
	admitted_run_free(run);
}

/* Not before start() has returned: callbacks come later than that. */
static void submit(void *user)
{
	struct engine_run *run = user;
	struct execution *execution = run->execution;

	run->execution = NULL;
	execution_submit(execution);
}

static int refuse(const struct problem *problem, struct brig_error *error)
{
	struct brig_error why = { 0 };

	problem_to_error(problem, error ? error : &why);
	return -(error ? error : &why)->errnum;
}

static int start_run(struct admitted *admitted, const struct engine_call *call,
		     const struct caller *caller, struct engine_run **ret, struct brig_error *error)
{
	struct front *front = admitted->front;
	struct problem problem = { 0 };
	struct submission submission = { .caller = caller, .stream = call->stream };
	struct engine_run *run = admitted_run_new(admitted, call);

	if (!run) {
		return error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory for a call");
	}
	int r = execution_request_copy(call, &submission.execution_request);
	if (r < 0) {
		admitted_run_free(run);
		return error_errno(error, BRIG_E_SYSTEM, -r, "the request cannot be copied");
	}
	r = front_permit(front, caller, submission.execution_request, &problem);
	if (r < 0) {
		execution_request_free(submission.execution_request);
	} else {
		r = execution_new(front, &submission, &run->execution, &problem);
	}
	if (r < 0) {
		admitted_run_free(run);
		return refuse(&problem, error);
	}
	run->listener = (struct execution_listener){ .output = more, .ended = ended, .user = run };
	run->soon.due = submit;
	run->soon.user = run;
	execution_listen(run->execution, &run->listener);
	loop_timer_set(front->loop, &run->soon, clock_now_ns());
	*ret = run;
	return 0;
}

/* The same rules for names as in the HTTP API: the tools of MCP have not checked them. */
static int check_words(const struct engine_call *call, struct brig_error *error)
{
	const struct {
		const char *name;
		bool (*valid)(const char *name);
		int errnum;
		const char *why;
	} words[] = {
		{ call->run.language, id_name_valid, EINVAL, "language: not a name" },
		{ call->run.policy, id_name_valid, EINVAL, "policy: not a name" },
		{ call->run.provider, id_name_valid, EINVAL, "provider: not a name" },
		{ call->run.venv, id_name_valid, EINVAL,
		  "venv: not a name of one that the policy lists" },
		{ call->run.guard, id_name_valid, EINVAL, "guard: not a name" },
		{ call->session, session_id_is_valid, ENOENT, "session not found" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (words[i].name && !words[i].valid(words[i].name)) {
			return error_set(error, BRIG_E_INPUT, words[i].errnum, "%s", words[i].why);
		}
	}
	return 0;
}

static int check_names(const struct engine_call *call, struct brig_error *error)
{
	const char *why = NULL;

	for (size_t i = 0; i < call->run.files_count; i++) {
		if (!file_name_is_valid(call->run.files[i].name, &why)) {
			return error_set(error, BRIG_E_INPUT, EINVAL,
					 "files[%zu].path is refused: %s", i, why);
		}
	}
	if (call->path && !file_name_is_valid(call->path, &why)) {
		return error_set(error, BRIG_E_INPUT, EINVAL, "the file's name is refused: %s",
				 why);
	}
	return check_words(call, error);
}

static void audit_close(struct front *front, const struct caller *caller,
			const struct engine_call *call)
{
	struct buf facts = { 0 };
	struct json_out json = { .buf = &facts };

	json_open(&json, NULL, '{');
	json_text(&json, "caller", caller->name);
	json_text(&json, "session", call->session);
	json_text(&json, "by", "mcp");
	json_close(&json, '}');
	ledger_audit(front->ledger, "session.close", caller->tenant, facts.data ? facts.data : "{}",
		     NULL, NULL);
	buf_done(&facts);
}

static int start(struct engine *engine, const struct engine_call *call, struct engine_run **ret,
		 struct brig_error *error)
{
	struct admitted *admitted = (struct admitted *)(void *)engine;
	struct front *front = admitted->front;
	struct problem problem = { 0 };
	struct caller caller;

	admitted_caller(front, call->tenant, &caller);
	int r = check_names(call, error);
	if (r < 0) {
		return r;
	}
	if (call->op == ENGINE_EXECUTE) {
		return start_run(admitted, call, &caller, ret, error);
	}
	if (call->op == ENGINE_SESSION_FORK) {
		return admitted_fork(admitted, call, ret, error);
	}
	/* No tool needs it, and this engine does not check whether the caller may use it. */
	if (call->op == ENGINE_SESSION_ENDED) {
		return error_set(error, BRIG_E_INPUT, ENOTSUP, "there is no such call");
	}
	struct execution_request execution_request = { .call = *call };
	execution_request.call.tenant = caller.tenant;
	execution_request.call.caller = caller.name;
	execution_request.call.run.tenant = caller.tenant;
	if (call->op == ENGINE_SESSION_OPEN &&
	    (front_permit(front, &caller, &execution_request, &problem) < 0 ||
	     admission_quota(&front->admission, &caller, &problem) < 0)) {
		execution_request_forget_proof(&execution_request);
		return refuse(&problem, error);
	}
	if (call->op == ENGINE_SESSION_CLOSE) {
		audit_close(front, &caller, &execution_request.call);
	}
	/*
	 * The other calls belong to the inner engine: a call that is started there is also
	 * cancelled there.
	 */
	r = engine_start(front->engine, &execution_request.call, ret, error);
	execution_request_forget_proof(&execution_request);
	return r;
}

static void cancel(struct engine_run *run)
{
	struct execution *execution = run->execution ? run->execution : run->listener.execution;

	if (run->inner) {
		engine_cancel(run->inner);
	} else if (execution) {
		execution_cancel(execution);
	}
}

static void forget(struct engine_run *run)
{
	struct execution *unsubmitted = run->execution;

	if (run->inner) {
		engine_forget(run->inner);
	}
	admitted_run_free(run);
	/* It was cancelled together with its only listener; it must still reach its end. */
	if (unsubmitted) {
		execution_submit(unsubmitted);
	}
}

static void pause_run(struct engine_run *run, bool paused)
{
	if (run->listener.execution) {
		execution_pause(run->listener.execution, paused);
	}
}

static void admitted_free(struct engine *engine)
{
	struct admitted *admitted = (struct admitted *)(void *)engine;

	struct engine_run *run;

	while ((run = LIST_FIRST(&admitted->runs, struct engine_run, node))) {
		if (run->inner) {
			engine_forget(run->inner);
		}
		admitted_run_free(run);
	}
	free(admitted);
}

int admitted_engine_new(struct front *front, struct engine **ret)
{
	static const struct engine_class class = { .start = start,
						   .cancel = cancel,
						   .forget = forget,
						   .pause = pause_run,
						   .free = admitted_free };
	struct admitted *admitted = calloc(1, sizeof(*admitted));

	if (!admitted) {
		return -ENOMEM;
	}
	admitted->engine.class = &class;
	admitted->front = front;
	*ret = &admitted->engine;
	return 0;
}
