/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a run, and that of the processes in its cell: the allowed changes. See run.h. */
#include "base/invariant.h"
#include "run/run_internal.h"

/* The cell may end in any state: its processes can be killed by the host at any time. */
#define ENDS (STATE_BIT(RUN_ENDING) | STATE_BIT(RUN_COLLECTING))

static const uint32_t run_edges[RUN_STATES] = {
	/* RESTING: a session's interpreter may be ready before brig-init reports its start. */
	[RUN_SETTING_UP] =
		STATE_BIT(RUN_HELD) | STATE_BIT(RUN_RUNNING) | STATE_BIT(RUN_RESTING) | ENDS,
	/* RUNNING: brig-init reports a waiting process that died as one that has begun. */
	[RUN_HELD] = STATE_BIT(RUN_ASSIGNED) | STATE_BIT(RUN_RUNNING) | ENDS,
	[RUN_ASSIGNED] = STATE_BIT(RUN_RUNNING) | STATE_BIT(RUN_RESTING) | ENDS,
	[RUN_RUNNING] = STATE_BIT(RUN_RESTING) | ENDS,
	[RUN_RESTING] = STATE_BIT(RUN_RUNNING) | ENDS,
	[RUN_ENDING] = STATE_BIT(RUN_COLLECTING),
	[RUN_COLLECTING] = STATE_BIT(RUN_DONE),
	[RUN_DONE] = 0,
};

void run_enter(struct run *run, enum run_state state)
{
	invariant(state_allows(run_edges, run->state, state));
	run->state = state;
}

static const uint32_t life_edges[CELL_LIFE_STATES] = {
	[CELL_LIVES] = STATE_BIT(CELL_PARKED) | STATE_BIT(CELL_GONE),
	[CELL_PARKED] = STATE_BIT(CELL_GONE),
	[CELL_GONE] = 0,
};

void run_enter_life(struct run *run, enum cell_life life)
{
	invariant(state_allows(life_edges, run->life, life));
	run->life = life;
}

void run_cell_gone(struct run *run)
{
	/* Seen again: an error of another event came in between. */
	if (run->life != CELL_GONE) {
		run_enter_life(run, CELL_GONE);
	}
}
