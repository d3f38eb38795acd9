/* SPDX-License-Identifier: Apache-2.0 */
/* GET /v1/executions/{}/events: what an execution writes, while it runs or afterwards. */
#include <errno.h>

#include "front/execution/events.h"

static void stored(struct visit *visit, const struct stored *found)
{
	struct place from;

	if (events_place(visit_asks(visit, "Last-Event-ID"), &from) == 0) {
		events_replay(visit, found, &from);
	} else {
		visit_empty(visit, 204);
	}
}

void handle_execution_events(struct visit *visit)
{
	struct execution *execution =
		execution_find(visit->front, visit_reach(visit), visit->args[0]);
	struct place from;
	int r = events_place(visit_asks(visit, "Last-Event-ID"), &from);

	if (r == -EINVAL) {
		visit_refuse(visit, PROBLEM_INVALID_REQUEST,
			     "Last-Event-ID: not an id that this service has given");
	} else if (execution && r == 0) {
		visit_audit_other(visit, "operator.read", execution_tenant(execution),
				  visit->args[0]);
		events_attach(visit, execution, &from, false);
	} else {
		/* An event source that has seen all is told not to come again: 204. */
		stored_get(visit, visit->args[0], stored);
	}
}
