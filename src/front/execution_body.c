/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body that an execution was asked with. It is held until the execution starts, though whoever
 * sent it may have left: with a key, or as a stream that can be resumed. All that time it counts
 * for the limits of bodies (http.tenant_body_bytes, http.bodies_bytes).
 */
#include "front/execution_internal.h"

void execution_keep_body(struct execution *execution)
{
	struct front *front = execution->front;

	execution->asker = NULL;
	if (execution->ask && !execution->body_kept) {
		execution->body_kept = execution->body_size;
		http_bodies_keep(front->http,
				 admission_budget(&front->admission, execution->tenant),
				 execution->body_kept);
	}
}

void execution_drop_ask(struct execution *execution)
{
	struct front *front = execution->front;

	ask_free(execution->ask);
	execution->ask = NULL;
	if (execution->body_kept) {
		http_bodies_give(front->http,
				 admission_budget(&front->admission, execution->tenant),
				 execution->body_kept);
		execution->body_kept = 0;
	}
}
