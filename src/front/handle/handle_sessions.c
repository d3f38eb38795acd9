/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: opened, read, interrupted, forked, closed. Their runs are in handle_execute.c. */
#include <stdio.h>
#include <string.h>

#include "front/access/ledger_query.h"
#include "front/request/execution_request_parts.h"
#include "front/request/list_query.h"

static void opened(void *user, const char *data, size_t size)
{
	struct request *request = user;
	json_t *session = json_loadb(data, size, 0, NULL);
	const char *id = json_string_value(json_object_get(session, "id"));
	char location[128];

	request->run = NULL;
	if (id) {
		snprintf(location, sizeof(location), "/v1/sessions/%s", id);
		request_answer_header(request, "Location", location);
	}
	request_answer_json(request, 201, data, size);
	json_decref(session);
}

/* No session is opened for a client that has left. */
void handle_session_open(struct request *request)
{
	struct problem problem = { 0 };
	struct execution_request *execution_request = NULL;

	if (execution_request_from_body(EXECUTION_REQUEST_SESSION, request->exchange,
					&execution_request, &problem) < 0 ||
	    front_permit(request->front, &request->caller, execution_request, &problem) < 0 ||
	    admission_quota(&request->front->admission, &request->caller, &problem) < 0) {
		execution_request_free(execution_request);
		request_answer_problem(request, &problem);
		return;
	}
	execution_request->call.op = ENGINE_SESSION_OPEN;
	request_call_engine(request, &execution_request->call, opened);
	execution_request_free(execution_request);
}

void handle_session_list(struct request *request)
{
	struct engine_call call = { .op = ENGINE_SESSION_LIST };
	struct problem problem = { 0 };
	struct list_query query;
	const char *asked = request->exchange->query;

	if (!asked || !*asked) {
		request_call_engine(request, &call, NULL);
		return;
	}
	int r = list_query_read(asked, true, &query, &problem);
	if (r == 0 && !query.gone) {
		r = problem_set(&problem, PROBLEM_INVALID_REQUEST,
				"open sessions are not listed in pages");
		problem_remedy(&problem, "omit the query, or use state=gone");
	}
	if (r < 0) {
		request_answer_problem(request, &problem);
		return;
	}
	struct ledger_query_text text = { .kind = LEDGER_QUERY_SESSIONS_GONE,
					  .limit = query.limit };
	snprintf(text.tenant, sizeof(text.tenant), "%s", request->caller.tenant);
	memcpy(text.id, query.before, sizeof(text.id));
	ledger_query_send(request, &text, ledger_query_pass_on);
}

static void with_session(struct request *request, enum engine_op op)
{
	struct engine_call call = { .op = op, .session = request->args[0] };

	if (!request->args[0] || !session_id_is_valid(request->args[0])) {
		request_refuse(request, PROBLEM_NOT_FOUND, "session not found");
		return;
	}
	request_call_engine(request, &call, NULL);
}

void handle_session_get(struct request *request)
{
	with_session(request, ENGINE_SESSION_GET);
}

void handle_session_close(struct request *request)
{
	request->audit = "session.close";
	request->status = 204;
	with_session(request, ENGINE_SESSION_CLOSE);
}

void handle_session_interrupt(struct request *request)
{
	with_session(request, ENGINE_SESSION_INTERRUPT);
}

/* The session's policy is known now: may the caller open a session under it? */
static void fork_looked(void *user, const char *data, size_t size)
{
	struct request *request = user;
	json_t *session = json_loadb(data, size, 0, NULL);
	const char *policy = json_string_value(json_object_get(session, "policy"));
	const char *state = json_string_value(json_object_get(session, "state"));
	struct problem problem = { 0 };
	struct execution_request execution_request = { .call = { .op = ENGINE_SESSION_FORK,
								 .session = request->args[0] } };

	request->run = NULL;
	execution_request.call.run.policy = policy;
	int r = front_permit(request->front, &request->caller, &execution_request, &problem);
	if (r == 0 && (!policy || !state || strcmp(state, "gone") == 0)) {
		const char *why = json_string_value(json_object_get(session, "reason"));
		r = problem_set(&problem, PROBLEM_SESSION_GONE, "the session is gone: %s",
				why ? why : "it has ended");
	}
	execution_request.call.run.policy = NULL;
	json_decref(session);
	if (r < 0) {
		request_answer_problem(request, &problem);
	} else {
		request_call_engine(request, &execution_request.call, opened);
	}
}

void handle_session_fork(struct request *request)
{
	struct engine_call call = { .op = ENGINE_SESSION_GET, .session = request->args[0] };

	if (!request->args[0] || !session_id_is_valid(request->args[0])) {
		request_refuse(request, PROBLEM_NOT_FOUND, "session not found");
		return;
	}
	request_call_engine(request, &call, fork_looked);
}
