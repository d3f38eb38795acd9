/* SPDX-License-Identifier: Apache-2.0 */
/* Asynchronous executions: submitted, listed, read, cancelled. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "base/json/json_out.h"
#include "front/access/ledger_query.h"
#include "front/execution/execution_record.h"
#include "front/execution/stored.h"
#include "front/request/list_query.h"
#include "front/request/submission.h"
#include "role/log.h"

static void accept_with(struct request *request, const char *id)
{
	struct buf text = { 0 };
	struct json_out json = { .buf = &text };
	char location[64];

	snprintf(location, sizeof(location), "/v1/executions/%s", id);
	json_open(&json, NULL, '{');
	json_text(&json, "id", id);
	json_text(&json, "status", "accepted");
	json_text(&json, "location", location);
	json_close(&json, '}');
	request_answer_header(request, "Location", location);
	request_answer_json(request, 202, text.data ? text.data : "{}", text.data ? text.size : 2);
	buf_done(&text);
}

/* It is in the ledger: from here on it will run, even after a crash of the service. */
static void begun(struct request *request, const struct problem *problem, const char *existing_id,
		  bool same)
{
	struct execution *execution = request->listener.execution;
	char id[27] = "";

	if (execution) {
		memcpy(id, execution_id(execution), sizeof(id));
		execution_unlisten(&request->listener);
	}
	if (problem) {
		request_answer_problem(request, problem);
	} else if (existing_id && !same) {
		request_refuse(request, PROBLEM_IDEMPOTENCY_MISMATCH,
			       "Idempotency-Key: it was used for another request");
	} else if (existing_id) {
		request->front->counts.replayed++;
		request_answer_header(request, "Idempotent-Replayed", "true");
		accept_with(request, existing_id);
	} else {
		accept_with(request, id);
	}
}

static void ignore_end(void *user, struct execution *execution)
{
	(void)user;
	(void)execution;
}

static int begin_queued(struct request *request, struct execution **ret, struct problem *problem)
{
	struct submission submission = { .queued = true };
	int r = execution_request_from_body(EXECUTION_REQUEST_RUN, request->exchange,
					    &submission.execution_request, problem);

	if (r < 0) {
		return r;
	}
	if (submission.execution_request->stream) {
		execution_request_free(submission.execution_request);
		return problem_set(problem, PROBLEM_INVALID_REQUEST,
				   "stream: not here; GET the execution's /events");
	}
	return submission_begin(request, &submission, begun, ret, problem);
}

void handle_executions_post(struct request *request)
{
	struct problem problem = { 0 };
	struct execution *execution = NULL;

	if (begin_queued(request, &execution, &problem) < 0) {
		request_answer_problem(request, &problem);
		return;
	}
	request->listener.ended = ignore_end;
	execution_listen(execution, &request->listener);
	execution_submit(execution);
}

/* --- list ------------------------------------------------------------------------------------ */

void handle_executions_list(struct request *request)
{
	struct problem problem = { 0 };
	struct list_query query;

	if (list_query_read(request->exchange->query, false, &query, &problem) < 0) {
		request_answer_problem(request, &problem);
		return;
	}
	if (query.tenant[0] && strcmp(query.tenant, request->caller.tenant) != 0 &&
	    !request->caller.is_operator) {
		request_refuse(request, PROBLEM_FORBIDDEN,
			       "only operators may read other tenants' executions");
		return;
	}
	struct ledger_query_text text = { .kind = LEDGER_QUERY_EXECUTIONS, .limit = query.limit };
	snprintf(text.tenant, sizeof(text.tenant), "%s",
		 query.tenant[0] ? query.tenant : request->caller.tenant);
	memcpy(text.id, query.before, sizeof(text.id));
	ledger_query_send(request, &text, ledger_query_pass_on);
}

/* --- one ------------------------------------------------------------------------------------- */

void handle_execution_get(struct request *request)
{
	stored_get(request, request->args[0], stored_answer);
}

static void cancelled(void *user, struct execution *execution)
{
	struct request *request = user;
	char id[27];

	memcpy(id, execution_id(execution), sizeof(id));
	stored_get(request, id, stored_answer);
}

static void dropped(void *user, const struct brig_error *error, const char *data, size_t size)
{
	(void)user;
	(void)data;
	(void)size;
	if (error) {
		role_log(ROLE_ERROR, "ledger.ended", "why=%s", error->message);
	}
}

/* In a held queue: only the ledger has it, so it is ended there. */
static void cancel_held(struct request *request, const struct stored *stored)
{
	struct problem problem = { 0 };
	struct buf result = { 0 };
	char id[27];

	if (strcmp(stored->status, "queued") != 0 || !request->front->queue_held ||
	    execution_find(request->front, request_tenant_scope(request), request->args[0])) {
		stored_answer(request, stored);
		return;
	}
	memcpy(id, request->args[0], sizeof(id));
	problem_set(&problem, PROBLEM_CANCELLED, "it was cancelled before it ran");
	record_problem_write(id, &problem, &result);
	int r = result.failed ? -ENOMEM
			      : ledger_ended(request->front->ledger, id, result.data, result.size,
					     dropped, NULL);
	buf_done(&result);
	if (r < 0) {
		request_refuse(request, PROBLEM_LEDGER_UNAVAILABLE, "it could not be recorded");
	} else {
		/* the ledger answers in the order of the calls */
		stored_get(request, id, stored_answer);
	}
}

/* Answered when it has really ended, with its final state. */
void handle_execution_cancel(struct request *request)
{
	struct execution *execution =
		execution_find(request->front, request_tenant_scope(request), request->args[0]);

	if (!execution) {
		stored_get(request, request->args[0], cancel_held);
		return;
	}
	request_audit_other(request, "operator.cancel", execution_tenant(execution),
			    request->args[0]);
	request->listener.ended = cancelled;
	execution_listen(execution, &request->listener);
	execution_cancel(execution);
}
