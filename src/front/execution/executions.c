/* SPDX-License-Identifier: Apache-2.0 */
/* All executions in progress, of all callers. */
#include <string.h>

#include "front/execution/execution.h"
#include "front/execution/execution_internal.h"

/*
 * Once it has ended only the ledger is asked for it, even if some listeners are still to be
 * notified.
 */
struct execution *execution_find(struct front *front, const char *tenant, const char *id)
{
	for (struct execution *e = front->executions; e; e = e->next) {
		if (e->state != EXECUTION_ENDED && strcmp(e->id, id) == 0) {
			bool any = strcmp(tenant, LEDGER_ANY_TENANT) == 0;
			return any || strcmp(e->tenant, tenant) == 0 ? e : NULL;
		}
	}
	return NULL;
}

struct execution *execution_next(const struct execution *execution)
{
	return execution->next;
}

/* The end of one may free others: start from the beginning each time. */
static struct execution *find_revoked(const struct front *front)
{
	for (struct execution *e = front->executions; e; e = e->next) {
		if (!e->cancelled && !auth_is_valid(&front->auth, e->tenant, e->caller)) {
			return e;
		}
	}
	return NULL;
}

size_t executions_revoke(struct front *front)
{
	struct execution *execution;
	size_t count = 0;

	while ((execution = find_revoked(front)) != NULL) {
		execution_cancel(execution);
		count++;
	}
	return count;
}

void executions_close(struct front *front)
{
	admission_close(&front->admission);
	/* The end of one may free others: execution_free() moves close_next on. */
	for (struct execution *e = front->executions; e; e = front->close_next) {
		front->close_next = e->next;
		if (e->state == EXECUTION_WAITING && e->kind != EXECUTION_QUEUED) {
			problem_set(&e->problem, PROBLEM_UNAVAILABLE,
				    "the service is shutting down");
			e->problem.retry_s = 2;
			execution_fail(e);
		} else {
			execution_save_now(e);
		}
	}
	front->close_next = NULL;
}

void executions_drop(struct front *front)
{
	admission_close(&front->admission);
	for (struct execution *execution = front->executions, *next; execution; execution = next) {
		next = execution->next;
		if (execution->run) {
			engine_forget(execution->run);
		}
		while (execution->listeners) {
			listener_unlink(execution->listeners);
		}
		execution_free(execution);
	}
}
