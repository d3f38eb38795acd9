/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body of the request for an execution. It is held until the execution starts, even if its
 * client has left: with a key, or as a stream that can be resumed. During that time it counts for
 * the limits of bodies (http.tenant_body_bytes, http.bodies_bytes). Bodies that were acknowledged
 * with 202 have limits of their own (http.tenant_queued_bytes, http.queued_bytes).
 */
#include <errno.h>
#include <string.h>

#include "front/execution/execution_internal.h"

int execution_bound_queued(struct front *front, const struct submission *submission,
			   struct problem *problem)
{
	size_t own = submission->body_size, others = 0;

	for (const struct execution *e = front->executions; e && submission->queued; e = e->next) {
		bool is_own = strcmp(e->tenant, submission->caller->tenant) == 0;
		*(is_own ? &own : &others) += e->request_size;
	}
	const struct http_limits *limits = &front->limits;
	bool own_fit = own <= limits->tenant_queued_bytes;
	if (submission->forced || !submission->queued ||
	    (own_fit && own + others <= limits->queued_bytes)) {
		return 0;
	}
	problem_set(problem, PROBLEM_QUEUE_FULL,
		    "requests that wait have together more than %zu bytes (%s)",
		    own_fit ? limits->queued_bytes : limits->tenant_queued_bytes,
		    own_fit ? "http.queued_bytes" : "http.tenant_queued_bytes");
	problem->retry_s = admission_retry_s(&front->admission);
	return -EAGAIN;
}

void execution_keep_body(struct execution *execution)
{
	struct front *front = execution->front;

	execution->body_listener = NULL;
	if (execution->execution_request && !execution->body_kept) {
		execution->body_kept = execution->body_size;
		http_bodies_keep(front->http,
				 admission_budget(&front->admission, execution->tenant),
				 execution->body_kept);
	}
}

void execution_drop_request(struct execution *execution)
{
	struct front *front = execution->front;

	execution_request_free(execution->execution_request);
	execution->execution_request = NULL;
	if (execution->body_kept) {
		http_bodies_give(front->http,
				 admission_budget(&front->admission, execution->tenant),
				 execution->body_kept);
		execution->body_kept = 0;
	}
}
