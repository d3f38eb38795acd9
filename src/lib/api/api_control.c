/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of the caller for a run that is under way: input, pauses, cancellation. */
#include <errno.h>

#include "base/cleanup.h"
#include "lib/api/api_run.h"
#include "run/run.h"

/* A program that has written began, even if the cell's report of it is not read yet. */
static bool has_begun(const struct run *run)
{
	return run->state >= RUN_RUNNING || run->out[0].seen > 0 || run->out[1].seen > 0;
}

long brig_run_feed(struct brig_run *run, const void *data, size_t size)
{
	if (run->session) {
		return -EPIPE;
	}
	/* While the compiler runs, or the cell is built, the program's input has to wait. */
	if (run->compiling || (run->phase.run && !has_begun(run->phase.run))) {
		return 0;
	}
	return run->phase.run ? run_feed(run->phase.run, data, size) : -EPIPE;
}

void brig_run_feed_end(struct brig_run *run)
{
	run->options.stdin_feed = false;
	if (!run->compiling && run->phase.run) {
		run->phase.options.stdin_feed = false; /* if the cell is built again */
		run_feed_end(run->phase.run);
	}
}

int brig_run_resize(struct brig_run *run, uint16_t rows, uint16_t columns)
{
	run->options.terminal_size = (struct terminal_size){ rows, columns };
	if (!run->options.terminal) {
		return -ENOTTY;
	}
	/* A cell that is not built yet, or is built again, begins with this size. */
	run->phase.options.terminal_size = run->options.terminal_size;
	if (run->end != 0 || run->compiling || !run->phase.run) {
		return 0;
	}
	return run_resize(run->phase.run, &run->options.terminal_size);
}

void brig_run_used_before(struct brig_run *run, uint64_t cpu_ns)
{
	struct phase *phase = run->session ? &run->session->session->phase : &run->phase;

	run->options.used_before_ns = cpu_ns;   /* for the program, if a compiler runs first */
	phase->options.used_before_ns = cpu_ns; /* if the cell is built again */
	if (phase->run) {
		watch_used_before(&phase->run->watch, cpu_ns);
	}
}

void brig_run_cancel(struct brig_run *run)
{
	run->cancelled = true;
	if (run->session) {
		session_run_cancel(run->session);
	}
	if (run->end == 0 && run->phase.run) {
		run_end(run->phase.run, ENDING_CANCELLED);
	}
}

void brig_run_pause(struct brig_run *run, bool paused)
{
	if (run->session) {
		session_run_pause(run->session, paused);
	} else if (run->end == 0 && run->phase.run && !run->compiling) {
		run_pause(run->phase.run, paused);
	}
}

struct brig_result *brig_run_take_result(struct brig_run *run)
{
	return TAKE_PTR(run->result);
}
