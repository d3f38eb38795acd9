/* SPDX-License-Identifier: Apache-2.0 */
/* Executions that go on by themselves: begun, listed, looked at, cancelled. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "base/json/json_out.h"
#include "front/access/ledger_query.h"
#include "front/execution/execution_record.h"
#include "front/execution/stored.h"
#include "front/request/listing.h"
#include "front/request/submission.h"
#include "role/log.h"

static void accept_with(struct visit *visit, const char *id)
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
	visit_header(visit, "Location", location);
	visit_json(visit, 202, text.data ? text.data : "{}", text.data ? text.size : 2);
	buf_done(&text);
}

/* It is in the ledger: from here on it will be run, whatever happens to us. */
static void begun(struct visit *visit, const struct problem *problem, const char *twin, bool same)
{
	struct execution *execution = visit->listener.execution;
	char id[27] = "";

	if (execution) {
		memcpy(id, execution_id(execution), sizeof(id));
		execution_unlisten(&visit->listener);
	}
	if (problem) {
		visit_problem(visit, problem);
	} else if (twin && !same) {
		visit_refuse(visit, PROBLEM_IDEMPOTENCY_MISMATCH,
			     "Idempotency-Key: it was used for another request");
	} else if (twin) {
		visit->front->counts.replayed++;
		visit_header(visit, "Idempotent-Replayed", "true");
		accept_with(visit, twin);
	} else {
		accept_with(visit, id);
	}
}

static void ignore_end(void *user, struct execution *execution)
{
	(void)user;
	(void)execution;
}

void handle_executions_post(struct visit *visit)
{
	struct problem problem = { 0 };
	struct execution *execution = NULL;
	struct execution_order order = { .queued = true };

	int r = ask_of_body(ASK_RUN, visit->exchange, &order.ask, &problem);
	if (r == 0 && order.ask->stream) {
		ask_free(order.ask);
		r = problem_set(&problem, PROBLEM_INVALID_REQUEST,
				"stream: not here; GET the execution's /events");
	}
	if (r == 0) {
		r = order_place(visit, &order, begun, &execution, &problem);
	}
	if (r < 0) {
		visit_problem(visit, &problem);
		return;
	}
	visit->listener.ended = ignore_end;
	execution_listen(execution, &visit->listener);
	execution_submit(execution);
}

/* --- list ------------------------------------------------------------------------------------ */

void handle_executions_list(struct visit *visit)
{
	struct problem problem = { 0 };
	struct list_query query;

	if (list_query_read(visit->exchange->query, false, &query, &problem) < 0) {
		visit_problem(visit, &problem);
		return;
	}
	if (query.tenant[0] && strcmp(query.tenant, visit->caller.tenant) != 0 &&
	    !visit->caller.is_operator) {
		visit_refuse(visit, PROBLEM_FORBIDDEN,
			     "other tenants' executions are for operators");
		return;
	}
	struct question_text text = { .kind = QUESTION_EXECUTIONS, .limit = query.limit };
	snprintf(text.tenant, sizeof(text.tenant), "%s",
		 query.tenant[0] ? query.tenant : visit->caller.tenant);
	memcpy(text.id, query.before, sizeof(text.id));
	question_ask(visit, &text, question_pass_on);
}

/* --- one ------------------------------------------------------------------------------------- */

void handle_execution_get(struct visit *visit)
{
	stored_get(visit, visit->args[0], stored_answer);
}

static void cancelled(void *user, struct execution *execution)
{
	struct visit *visit = user;
	char id[27];

	memcpy(id, execution_id(execution), sizeof(id));
	stored_get(visit, id, stored_answer);
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

/* In a held queue: nobody but the ledger has it, so it is ended there. */
static void cancel_held(struct visit *visit, const struct stored *stored)
{
	struct problem problem = { 0 };
	struct buf result = { 0 };
	char id[27];

	if (strcmp(stored->status, "queued") != 0 || !visit->front->queue_held ||
	    execution_find(visit->front, visit_reach(visit), visit->args[0])) {
		stored_answer(visit, stored);
		return;
	}
	memcpy(id, visit->args[0], sizeof(id));
	problem_set(&problem, PROBLEM_CANCELLED, "it was cancelled before it ran");
	record_problem_write(id, &problem, &result);
	int r = result.failed ? -ENOMEM
			      : ledger_ended(visit->front->ledger, id, result.data, result.size,
					     dropped, NULL);
	buf_done(&result);
	if (r < 0) {
		visit_refuse(visit, PROBLEM_LEDGER_UNAVAILABLE, "it could not be recorded");
	} else {
		stored_get(visit, id, stored_answer); /* answers come in the calls' order */
	}
}

/* Answered when it has really ended, with what became of it. */
void handle_execution_cancel(struct visit *visit)
{
	struct execution *execution =
		execution_find(visit->front, visit_reach(visit), visit->args[0]);

	if (!execution) {
		stored_get(visit, visit->args[0], cancel_held);
		return;
	}
	visit_audit_other(visit, "operator.cancel", execution_tenant(execution), visit->args[0]);
	visit->listener.ended = cancelled;
	execution_listen(execution, &visit->listener);
	execution_cancel(execution);
}
