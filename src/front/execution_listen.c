/* SPDX-License-Identifier: Apache-2.0 */
/* Who hears of an execution: told of its output, and its reason to go on. */
#include "base/clock.h"
#include "front/execution.h"
#include "front/execution_internal.h"

void execution_listen(struct execution *execution, struct listener *listener)
{
	listener->execution = execution;
	listener->next = execution->listeners;
	execution->listeners = listener;
}

void execution_unlisten(struct listener *listener)
{
	struct execution *execution = listener->execution;

	if (!execution) {
		return;
	}
	for (struct listener **at = &execution->listeners; *at; at = &(*at)->next) {
		if (*at == listener) {
			*at = listener->next;
			break;
		}
	}
	listener->execution = NULL;
	if (execution->listeners) {
		return;
	}
	execution_pause(execution, false);
	/* With a key the caller will ask again, and wants this very run's answer. */
	if (execution->queued || execution->key) {
		return;
	}
	if (execution->attached_stream && execution->state <= EXECUTION_RUNNING) {
		loop_timer_set(execution->front->loop, &execution->timer,
			       clock_now_ns() + execution->front->resume_ns);
	} else {
		execution_cancel(execution);
	}
}
