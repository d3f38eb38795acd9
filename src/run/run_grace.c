/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The grace period: a program that has to end gets SIGTERM, and may clean up until the period is
 * over. Nothing that happens in the cell moves the deadline, and the verdict is already decided.
 */
#include "base/clock.h"
#include "run/run_internal.h"

/* For all other reasons the run is ended at once. */
static bool is_due_to_time(enum ending why)
{
	return why == ENDING_WALL || why == ENDING_CPU || why == ENDING_CANCELLED;
}

bool run_grace_begin(struct run *run, enum ending why)
{
	uint64_t grace_ns = run->options.spec->limits.grace_ns;

	if (grace_ns == 0 || run->grace_end_ns || !is_due_to_time(why) ||
	    !run->provider->has_program(run)) {
		return false;
	}
	run->grace_end_ns = clock_now_ns() + grace_ns;
	if (run->provider->ask_to_end(run) < 0) {
		run->grace_end_ns = 0;
		return false;
	}
	run->facts.ending = why;
	run_arm(run);
	return true;
}

void run_begun(struct run *run)
{
	if (run->grace_end_ns && run->provider->ask_to_end(run) < 0) {
		run_end_now(run, run->facts.ending); /* it cannot be asked */
	}
}

/* In that period the other limits apply; those of time have been reached. */
bool run_grace_look(struct run *run, uint64_t now, enum ending due)
{
	if (!run->grace_end_ns) {
		return false;
	}
	if (now >= run->grace_end_ns || (due != ENDING_NONE && !is_due_to_time(due))) {
		run_end(run, due);
	}
	return true;
}
