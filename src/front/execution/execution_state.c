/* SPDX-License-Identifier: Apache-2.0 */
/* The life of an execution: which state follows which. */
#include "front/execution/execution_internal.h"

#define BIT(name) STATE_BIT(EXECUTION_##name)

static const uint32_t execution_edges[EXECUTION_STATES] = {
	[EXECUTION_NEW] = BIT(RECORDING) | BIT(WAITING),
	/* Cancelled before it had a place in the queue: its record gets an end. */
	[EXECUTION_RECORDING] = BIT(WAITING) | BIT(SAVING),
	[EXECUTION_WAITING] = BIT(STARTING) | BIT(SAVING),
	/* The ledger has failed. */
	[EXECUTION_STARTING] = BIT(RUNNING) | BIT(SAVING),
	[EXECUTION_RUNNING] = BIT(PAUSED) | BIT(SAVING),
	[EXECUTION_PAUSED] = BIT(RUNNING) | BIT(SAVING),
	[EXECUTION_SAVING] = BIT(UNSAVED) | BIT(ENDED),
	[EXECUTION_UNSAVED] = BIT(EXCUSED) | BIT(ENDED),
	[EXECUTION_EXCUSED] = BIT(ENDED),
	[EXECUTION_ENDED] = 0,
};

void execution_enter(struct execution *execution, enum execution_state state)
{
	invariant(state_allows(execution_edges, execution->state, state));
	execution->state = state;
	/* The engine has it between these two states, and nowhere else. */
	invariant(!execution->run || execution_in(execution, BIT(RUNNING) | BIT(PAUSED)));
	invariant(execution->run || state != EXECUTION_PAUSED);
	/* front->unsaved counts it. */
	invariant(execution->save_since_ns ||
		  !execution_in(execution, BIT(UNSAVED) | BIT(EXCUSED)));
}

bool execution_recorded(const struct execution *execution)
{
	if (execution_in(execution, BIT(NEW) | BIT(RECORDING) | BIT(WAITING) | BIT(STARTING))) {
		return execution->kind == EXECUTION_QUEUED || execution->key;
	}
	/* Without waiting for an answer: the record of its end comes after that of its start. */
	return true;
}
