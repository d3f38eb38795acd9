/* SPDX-License-Identifier: Apache-2.0 */
/* Work for a cell whose processes live, under the watchdog. See run.h and watchdog.h. */
#include "run/run_internal.h"

/* Of a cell that has ended nothing can hold a lock; a program without walls is trusted. */
static bool can_block(const struct run *run)
{
	return run && run->cell && run->end_fd >= 0 && run->life != CELL_GONE &&
	       provider_can(run->provider, ABILITY_WALLS);
}

void run_section_enter(struct run *run, struct run_section *section)
{
	*section = (struct run_section){ .run = can_block(run) ? run : NULL };
	if (section->run) {
		section->watched = (struct watchdog_section){ .account = &run->blocked,
							      .pidfd = run->end_fd,
							      .group = run->watch.group };
		watchdog_enter(run->options.watchdog, &section->watched);
	}
}

void run_section_leave(struct run_section *section)
{
	struct run *run = section->run;

	if (!run || !watchdog_leave(&section->watched)) {
		return;
	}
	run_end_now(run, ENDING_LOCK);
	/* A limit that was reached meanwhile may have been so because of the lock. */
	if (run->state == RUN_ENDING) {
		run->facts.ending = ENDING_LOCK;
	}
}
