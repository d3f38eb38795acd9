/* SPDX-License-Identifier: Apache-2.0 */
/* After a start, executions that were acknowledged before and never started are queued again. */
#include "base/cleanup.h"
#include "base/id.h"
#include "base/json/json_bounded.h"
#include "front/execution/execution_record.h"
#include "front/request/request.h"
#include "role/log.h"

/* It cannot run any more (another configuration, for example): this ends it and is recorded. */
static void give_up(struct front *front, const char *id, const struct problem *problem)
{
	struct buf result = { 0 };

	record_problem_write(id, problem, &result);
	ledger_ended(front->ledger, id, result.data, result.size, NULL, NULL);
	role_log_often(ROLE_WARNING, "recover.refused", "", "id=%s why=%s", id, problem->detail);
	buf_done(&result);
}

static int read_request(json_t *item, struct execution_request **ret, struct problem *problem)
{
	_cleanup_free_ void *text = NULL;
	size_t size = 0;
	int r = field_base64(json_object_get(item, "request_base64"), "request", &text, &size,
			     problem);

	return r < 0 ? r : execution_request_parse(EXECUTION_REQUEST_RUN, text, size, ret, problem);
}

static void recover_one(struct front *front, json_t *item)
{
	const char *id = json_string_value(json_object_get(item, "id"));
	const char *tenant = json_string_value(json_object_get(item, "tenant"));
	const char *name = json_string_value(json_object_get(item, "caller"));
	struct submission submission = { .queued = true, .forced = true, .id = id };
	struct execution *execution = NULL;
	struct problem problem = { 0 };
	struct caller caller;

	if (!id || !id_valid(id) || !tenant || !name || execution_find(front, tenant, id)) {
		return;
	}
	if (!auth_recall(&front->auth, tenant, name, &caller)) {
		problem_set(&problem, PROBLEM_UNAUTHORIZED, "its caller is not allowed any more");
		give_up(front, id, &problem);
		return;
	}
	submission.caller = &caller;
	if (read_request(item, &submission.execution_request, &problem) < 0 ||
	    front_permit(front, &caller, submission.execution_request, &problem) < 0) {
		execution_request_free(submission.execution_request);
		give_up(front, id, &problem);
	} else if (execution_new(front, &submission, &execution, &problem) < 0) {
		give_up(front, id, &problem);
	} else {
		execution_submit(execution);
	}
}

/* A list from the ledger: a thousand at most, with the bodies of their requests. */
static json_t *parse_pending(const char *data, size_t size)
{
	static const struct json_bounds bounds = { .depth = 8, .values = 65536 };

	return json_bounded_load(data, size, &bounds, NULL);
}

static void pending(void *user, const struct brig_error *error, const char *data, size_t size)
{
	struct front *front = user;
	json_t *root = error ? NULL : parse_pending(data, size);
	json_t *list = json_object_get(root, "pending");
	json_t *item;
	size_t index;

	if (error) {
		role_log(ROLE_ERROR, "recover.failed", "why=%s", error->message);
	}
	json_array_foreach(list, index, item)
	{
		recover_one(front, item);
	}
	if (json_array_size(list) > 0) {
		role_log(ROLE_NOTICE, "recover.queued", "count=%zu", json_array_size(list));
		front_recover(front);
	}
	json_decref(root);
}

void front_recover(struct front *front)
{
	if (ledger_pending(front->ledger, pending, front) < 0) {
		role_log(ROLE_ERROR, "recover.failed", "why=%s", "the ledger does not answer");
	}
}
