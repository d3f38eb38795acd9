/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: opened, looked at, interrupted, closed. Their runs are in handle_execute.c. */
#include <stdio.h>
#include <string.h>

#include "front/access/ledger_query.h"
#include "front/request/execution_request_parts.h"
#include "front/request/listing.h"

static void opened(void *user, const char *data, size_t size)
{
	struct visit *visit = user;
	json_t *session = json_loadb(data, size, 0, NULL);
	const char *id = json_string_value(json_object_get(session, "id"));
	char location[128];

	visit->run = NULL;
	if (id) {
		snprintf(location, sizeof(location), "/v1/sessions/%s", id);
		visit_header(visit, "Location", location);
	}
	visit_json(visit, 201, data, size);
	json_decref(session);
}

/* A session is not made for one who has left. */
void handle_session_open(struct visit *visit)
{
	struct problem problem = { 0 };
	struct ask *ask = NULL;

	if (ask_of_body(ASK_SESSION, visit->exchange, &ask, &problem) < 0 ||
	    front_permit(visit->front, &visit->caller, ask, &problem) < 0 ||
	    admission_quota(&visit->front->admission, &visit->caller, &problem) < 0) {
		ask_free(ask);
		visit_problem(visit, &problem);
		return;
	}
	ask->call.op = ENGINE_SESSION_OPEN;
	visit_engine(visit, &ask->call, opened);
	ask_free(ask);
}

void handle_session_list(struct visit *visit)
{
	struct engine_call call = { .op = ENGINE_SESSION_LIST };
	struct problem problem = { 0 };
	struct list_query query;
	const char *asked = visit->exchange->query;

	if (!asked || !*asked) {
		visit_engine(visit, &call, NULL);
		return;
	}
	int r = list_query_read(asked, true, &query, &problem);
	if (r == 0 && !query.gone) {
		r = problem_set(&problem, PROBLEM_INVALID_REQUEST,
				"those that are open are not listed in pages");
		problem_remedy(&problem, "leave the query away, or ask for state=gone");
	}
	if (r < 0) {
		visit_problem(visit, &problem);
		return;
	}
	struct question_text text = { .kind = QUESTION_SESSIONS_GONE, .limit = query.limit };
	snprintf(text.tenant, sizeof(text.tenant), "%s", visit->caller.tenant);
	memcpy(text.id, query.before, sizeof(text.id));
	question_ask(visit, &text, question_pass_on);
}

static void with_session(struct visit *visit, enum engine_op op)
{
	struct engine_call call = { .op = op, .session = visit->args[0] };

	if (!visit->args[0] || !ask_session_id(visit->args[0])) {
		visit_refuse(visit, PROBLEM_NOT_FOUND, "there is no such session");
		return;
	}
	visit_engine(visit, &call, NULL);
}

void handle_session_get(struct visit *visit)
{
	with_session(visit, ENGINE_SESSION_GET);
}

void handle_session_close(struct visit *visit)
{
	visit->audit = "session.close";
	visit->status = 204;
	with_session(visit, ENGINE_SESSION_CLOSE);
}

void handle_session_interrupt(struct visit *visit)
{
	with_session(visit, ENGINE_SESSION_INTERRUPT);
}

/* Its policy is known now: may whoever asks open such a session? */
static void fork_looked(void *user, const char *data, size_t size)
{
	struct visit *visit = user;
	json_t *session = json_loadb(data, size, 0, NULL);
	const char *policy = json_string_value(json_object_get(session, "policy"));
	const char *state = json_string_value(json_object_get(session, "state"));
	struct problem problem = { 0 };
	struct ask ask = { .call = { .op = ENGINE_SESSION_FORK, .session = visit->args[0] } };

	visit->run = NULL;
	ask.call.run.policy = policy;
	int r = front_permit(visit->front, &visit->caller, &ask, &problem);
	if (r == 0 && (!policy || !state || strcmp(state, "gone") == 0)) {
		const char *why = json_string_value(json_object_get(session, "reason"));
		r = problem_set(&problem, PROBLEM_SESSION_GONE, "the session is gone: %s",
				why ? why : "it has ended");
	}
	ask.call.run.policy = NULL;
	json_decref(session);
	if (r < 0) {
		visit_problem(visit, &problem);
	} else {
		visit_engine(visit, &ask.call, opened);
	}
}

void handle_session_fork(struct visit *visit)
{
	struct engine_call call = { .op = ENGINE_SESSION_GET, .session = visit->args[0] };

	if (!visit->args[0] || !ask_session_id(visit->args[0])) {
		visit_refuse(visit, PROBLEM_NOT_FOUND, "there is no such session");
		return;
	}
	visit_engine(visit, &call, fork_looked);
}
