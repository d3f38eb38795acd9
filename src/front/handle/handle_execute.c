/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/execute and runs in sessions: ask, wait, answer; or a stream of what happens. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "front/execution/events.h"
#include "front/request/execution_request_parts.h"
#include "front/request/submission.h"

static void ended(void *user, struct execution *execution)
{
	struct visit *visit = user;
	const struct problem *problem;
	const struct run_result *result = execution_result(execution, &problem);
	struct rope text = { 0 };
	char location[64];

	snprintf(location, sizeof(location), "/v1/executions/%s", execution_id(execution));
	visit_header(visit, "Location", location);
	if (result) {
		run_result_write(result, &text);
		visit_rope(visit, 200, "application/json", &text);
	} else {
		visit_problem(visit, problem);
	}
}

static void replay(struct visit *visit, const struct stored *stored)
{
	static const struct place beginning;

	if (visit->status) {
		events_replay(visit, stored, &beginning);
	} else {
		stored_answer_result(visit, stored);
	}
}

/* The one that the key was first used for: under way, or in the ledger. `status`: as a stream. */
static void follow(struct visit *visit, const char *twin)
{
	static const struct place beginning;
	struct execution *other = execution_find(visit->front, visit->caller.tenant, twin);

	visit->front->counts.replayed++;
	visit_header(visit, "Idempotent-Replayed", "true");
	if (other && visit->status) {
		events_attach(visit, other, &beginning, false);
	} else if (other) {
		visit->listener.ended = ended;
		execution_listen(other, &visit->listener);
	} else {
		stored_get(visit, twin, replay);
	}
}

static void begun(struct visit *visit, const struct problem *problem, const char *twin, bool same)
{
	static const struct place beginning;

	if (problem || twin) {
		execution_unlisten(&visit->listener);
	}
	if (problem) {
		visit_problem(visit, problem);
	} else if (twin && !same) {
		visit_refuse(visit, PROBLEM_IDEMPOTENCY_MISMATCH,
			     "Idempotency-Key: it was used for another request");
	} else if (twin) {
		follow(visit, twin);
	} else if (visit->status) {
		events_attach(visit, visit->listener.execution, &beginning, true);
	}
}

static void run(struct visit *visit, struct ask *ask)
{
	static const struct place beginning;
	struct problem problem = { 0 };
	struct execution *execution = NULL;
	bool stream = ask->stream || visit_accepts(visit, EVENTS_TYPE);
	struct execution_order order = { .ask = ask, .stream = stream, .resumable = stream };
	bool keyed = visit_asks(visit, "Idempotency-Key") != NULL;

	visit->status = stream;
	if (order_place(visit, &order, begun, &execution, &problem) < 0) {
		visit_problem(visit, &problem);
		return;
	}
	visit->listener.ended = ended;
	execution_listen(execution, &visit->listener);
	if (stream && !keyed) {
		events_attach(visit, execution, &beginning, true);
	}
	execution_submit(execution);
}

void handle_execute(struct visit *visit)
{
	struct problem problem = { 0 };
	struct ask *ask = NULL;

	if (ask_of_body(ASK_RUN, visit->exchange, &ask, &problem) < 0) {
		visit_problem(visit, &problem);
		return;
	}
	run(visit, ask);
}

void handle_session_execute(struct visit *visit)
{
	struct problem problem = { 0 };
	struct ask *ask = NULL;

	if (!visit->args[0] || !ask_session_id(visit->args[0])) {
		visit_refuse(visit, PROBLEM_NOT_FOUND, "there is no such session");
		return;
	}
	int r = ask_of_body(ASK_RUN, visit->exchange, &ask, &problem);
	if (r == 0 && ask->call.session) {
		r = problem_set(&problem, PROBLEM_INVALID_REQUEST,
				"session: given twice, also in the path");
	}
	if (r == 0 && ask_in_session(ask, visit->args[0]) < 0) {
		r = problem_set(&problem, PROBLEM_MEMORY_LOW, "no memory for the request");
	}
	if (r < 0) {
		ask_free(ask);
		visit_problem(visit, &problem);
		return;
	}
	run(visit, ask);
}
