/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forks of sessions for callers that do not use a route of the API. A fork is a session that is
 * opened under the policy of another one. Whether the caller may open it is known only when that
 * session has been read, so this makes two calls to the inner engine, one after the other.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "front/access/admitted.h"

static void fork_failed(void *user, const struct brig_error *error)
{
	struct engine_run *run = user;

	run->inner = NULL;
	run->fail(run->user, error);
	admitted_run_free(run);
}

static void forked(void *user, const char *data, size_t size)
{
	struct engine_run *run = user;

	run->inner = NULL;
	run->end(run->user, data, size);
	admitted_run_free(run);
}

static void looked(void *user, const char *data, size_t size);

static struct engine_call call_of(struct engine_run *run, const struct caller *caller,
				  enum engine_op op)
{
	return (struct engine_call){
		.op = op,
		.tenant = caller->tenant,
		.caller = caller->name,
		.session = run->session,
		.run = { .tenant = caller->tenant },
		.end = op == ENGINE_SESSION_FORK ? forked : looked,
		.fail = fork_failed,
		.user = run,
	};
}

/* The session's policy is known now: may the caller open a session under it? */
static int permit(struct front *front, const struct caller *caller,
		  struct execution_request *execution_request, const json_t *session,
		  struct brig_error *error)
{
	const char *policy = json_string_value(json_object_get(session, "policy"));
	const char *state = json_string_value(json_object_get(session, "state"));
	const char *why = json_string_value(json_object_get(session, "reason"));
	struct problem problem = { 0 };

	if (!policy || !state || strcmp(state, "gone") == 0) {
		return error_set(error, BRIG_E_INPUT, ESTALE, "the session is gone: %s",
				 why ? why : "it has ended");
	}
	execution_request->call.run.policy = policy;
	int r = front_permit(front, caller, execution_request, &problem);
	execution_request->call.run.policy = NULL;
	if (r < 0) {
		problem_to_error(&problem, error);
	}
	return r;
}

static void looked(void *user, const char *data, size_t size)
{
	struct engine_run *run = user;
	struct front *front = ((struct admitted *)(void *)run->engine)->front;
	struct brig_error error = { 0 };
	struct caller caller;

	bool known = admitted_caller(front, run->caller_name, &caller);
	struct execution_request execution_request = { .call = call_of(run, &caller,
								       ENGINE_SESSION_FORK) };
	json_t *session = json_loadb(data, size, 0, NULL);
	int r = known ? permit(front, &caller, &execution_request, session, &error)
		      : error_set(&error, BRIG_E_POLICY, EACCES, "the caller is not known");
	json_decref(session);
	run->inner = NULL;
	if (r == 0) {
		r = engine_start(front->engine, &execution_request.call, &run->inner, &error);
	}
	if (r < 0) {
		fork_failed(run, &error);
	}
}

int admitted_fork(struct admitted *admitted, const struct engine_call *call,
		  struct engine_run **ret, struct brig_error *error)
{
	struct engine_run *run = admitted_run_new(admitted, call);
	struct caller caller;

	if (!run) {
		return error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory for a call");
	}
	snprintf(run->caller_name, sizeof(run->caller_name), "%s", call->tenant);
	snprintf(run->session, sizeof(run->session), "%s", call->session ? call->session : "");
	admitted_caller(admitted->front, run->caller_name, &caller);
	struct engine_call look = call_of(run, &caller, ENGINE_SESSION_GET);
	int r = engine_start(admitted->front->engine, &look, &run->inner, error);
	if (r < 0) {
		admitted_run_free(run);
		return r;
	}
	*ret = run;
	return 0;
}
