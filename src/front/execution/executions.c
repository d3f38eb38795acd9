/* SPDX-License-Identifier: Apache-2.0 */
/* All executions that are under way, whoever asked for them. */
#include <string.h>

#include "front/execution/execution.h"
#include "front/execution/execution_internal.h"

/* One that has ended is the ledger's, though some may still have to be told. */
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

/* The end of one may be the end of others: each time from the beginning. */
static struct execution *find_revoked(const struct front *front)
{
	for (struct execution *e = front->executions; e; e = e->next) {
		if (!e->cancelled && !auth_stands(&front->auth, e->tenant, e->caller)) {
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
	/* The end of one may free others: execution_free() moves the next one on. */
	for (struct execution *e = front->executions; e; e = front->close_next) {
		front->close_next = e->next;
		if (e->state == EXECUTION_WAITING && !e->queued) {
			problem_set(&e->problem, PROBLEM_UNAVAILABLE, "the service is going down");
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
