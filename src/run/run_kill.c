/* SPDX-License-Identifier: Apache-2.0 */
/* Kills a cell, and frees everything that was held for it. */
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "run/run_internal.h"

void run_end(struct run *run, enum ending why)
{
	if (run->state < RUN_ENDING && !run_grace_begin(run, why)) {
		run_end_now(run, why);
	}
}

void run_end_now(struct run *run, enum ending why)
{
	if (run->state >= RUN_ENDING) {
		return;
	}
	/* After a grace period the verdict is already decided. */
	run->facts.ending = run->grace_end_ns ? run->facts.ending : why;
	run_enter(run, RUN_ENDING);
	run->kill_deadline_ns = clock_now_ns() + RUN_KILL_PATIENCE_NS;
	run->provider->kill(run);
	run_arm(run);
}

void run_program_over(struct run *run, uint64_t patience_ns)
{
	uint64_t now = clock_now_ns();

	run->over_ns = now;
	run->kill_deadline_ns = now + patience_ns;
	if (run->state < RUN_ENDING) {
		run_enter(run, RUN_ENDING);
	}
	run_arm(run);
}

void run_free(struct run *run)
{
	if (!run) {
		return;
	}
	/* Nothing of the cell may outlive its handle. */
	if (run->cell) {
		run->provider->close(run);
	}
	watch_done(&run->watch);
	for (int i = 0; i < 3; i++) {
		close_fd(&run->inside[i]);
	}
	stream_done(&run->out[0]);
	stream_done(&run->out[1]);
	feed_done(&run->in);
	run_gate_done(run);
	close_fd(&run->sandbox);
	close_fd(&run->value);
	run_detach(run);
	close_fd(&run->timer);
	close_fd(&run->epoll);
	collect_free(run->files);
	brig_result_free(run->result);
	free(run);
}
