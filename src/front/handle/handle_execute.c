/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/execute and runs in sessions: submit, wait, answer; or a stream of events. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "front/execution/event_stream.h"
#include "front/request/execution_request_parts.h"
#include "front/request/submission.h"

static void ended(void *user, struct execution *execution)
{
	struct request *request = user;
	const struct problem *problem;
	const struct run_result *result = execution_result(execution, &problem);
	struct rope text = { 0 };
	char location[64];

	snprintf(location, sizeof(location), "/v1/executions/%s", execution_id(execution));
	request_answer_header(request, "Location", location);
	if (result) {
		run_result_write(result, &text);
		request_answer_rope(request, 200, "application/json", &text);
	} else {
		request_answer_problem(request, problem);
	}
}

static void replay(struct request *request, const struct stored *stored)
{
	static const struct output_log_position beginning;

	if (request->status) {
		events_replay(request, stored, &beginning);
	} else {
		stored_answer_result(request, stored);
	}
}

/*
 * Follows the execution that the key was first used for: in progress, or in the ledger. `status`:
 * as a stream.
 */
static void follow(struct request *request, const char *existing_id)
{
	static const struct output_log_position beginning;
	struct execution *other =
		execution_find(request->front, request->caller.tenant, existing_id);

	request->front->counts.replayed++;
	request_answer_header(request, "Idempotent-Replayed", "true");
	if (other && request->status) {
		events_attach(request, other, &beginning, false);
	} else if (other) {
		request->listener.ended = ended;
		execution_listen(other, &request->listener);
	} else {
		stored_get(request, existing_id, replay);
	}
}

static void begun(struct request *request, const struct problem *problem, const char *existing_id,
		  bool same)
{
	static const struct output_log_position beginning;

	if (problem || existing_id) {
		execution_unlisten(&request->listener);
	}
	if (problem) {
		request_answer_problem(request, problem);
	} else if (existing_id && !same) {
		request_refuse(request, PROBLEM_IDEMPOTENCY_MISMATCH,
			       "Idempotency-Key: it was used for another request");
	} else if (existing_id) {
		follow(request, existing_id);
	} else if (request->status) {
		events_attach(request, request->listener.execution, &beginning, true);
	}
}

static void run(struct request *request, struct execution_request *execution_request)
{
	static const struct output_log_position beginning;
	struct problem problem = { 0 };
	struct execution *execution = NULL;
	bool stream = execution_request->stream || request_accepts(request, EVENTS_TYPE);
	struct submission submission = { .execution_request = execution_request,
					 .stream = stream,
					 .resumable = stream };
	bool keyed = request_header(request, "Idempotency-Key") != NULL;

	request->status = stream;
	if (submission_begin(request, &submission, begun, &execution, &problem) < 0) {
		request_answer_problem(request, &problem);
		return;
	}
	request->listener.ended = ended;
	execution_listen(execution, &request->listener);
	if (stream && !keyed) {
		events_attach(request, execution, &beginning, true);
	}
	execution_submit(execution);
}

void handle_execute(struct request *request)
{
	struct problem problem = { 0 };
	struct execution_request *execution_request = NULL;

	if (execution_request_from_body(EXECUTION_REQUEST_RUN, request->exchange,
					&execution_request, &problem) < 0) {
		request_answer_problem(request, &problem);
		return;
	}
	run(request, execution_request);
}

/* NULL: refused, and `problem` says why. */
static struct execution_request *read_session_request(struct request *request,
						      struct problem *problem)
{
	_cleanup_(execution_request_freep)
	struct execution_request *made = NULL;

	if (execution_request_from_body(EXECUTION_REQUEST_RUN, request->exchange, &made, problem) <
	    0) {
		return NULL;
	}
	if (made->call.session) {
		problem_set(problem, PROBLEM_INVALID_REQUEST,
			    "session: given twice, also in the path");
		return NULL;
	}
	if (execution_request_in_session(made, request->args[0]) < 0) {
		problem_set(problem, PROBLEM_MEMORY_LOW, "no memory for the request");
		return NULL;
	}
	return TAKE_PTR(made);
}

void handle_session_execute(struct request *request)
{
	struct problem problem = { 0 };

	if (!request->args[0] || !session_id_is_valid(request->args[0])) {
		request_refuse(request, PROBLEM_NOT_FOUND, "session not found");
		return;
	}
	struct execution_request *execution_request = read_session_request(request, &problem);
	if (!execution_request) {
		request_answer_problem(request, &problem);
		return;
	}
	run(request, execution_request);
}
