/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/executions/{}/events: the output of an execution, while it runs or afterwards. */
#include <errno.h>

#include "front/execution/event_stream.h"

static void stored(struct request *request, const struct stored *found)
{
	struct output_log_position from;

	if (events_position(request_header(request, "Last-Event-ID"), &from) == 0) {
		events_replay(request, found, &from);
	} else {
		request_answer_empty(request, 204);
	}
}

void handle_execution_events(struct request *request)
{
	struct execution *execution =
		execution_find(request->front, request_tenant_scope(request), request->args[0]);
	struct output_log_position from;
	int r = events_position(request_header(request, "Last-Event-ID"), &from);

	if (r == -EINVAL) {
		request_refuse(request, PROBLEM_INVALID_REQUEST,
			       "Last-Event-ID: not an id that this service has given");
	} else if (execution && r == 0) {
		request_audit_other(request, "operator.read", execution_tenant(execution),
				    request->args[0]);
		events_attach(request, execution, &from, false);
	} else {
		/* 204 tells an event source that has seen everything not to reconnect. */
		stored_get(request, request->args[0], stored);
	}
}
