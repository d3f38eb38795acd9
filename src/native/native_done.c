/* SPDX-License-Identifier: Apache-2.0 */
/* Handles the listener's calls: refused calls, and reports of being done (done_call.h). */
#include <sched.h>
#include <signal.h>

#include "base/clock.h"
#include "native/native_internal.h"

/* Brig-init, and the process that reported being done. */
#define PARKED_TASKS 2
/*
 * The most memory that the kernel may still have to free when the run counts as ended. For a
 * program that has used more, brig waits: else a sequence of runs could hold more memory than the
 * runs at one time may, and cause kernel work that is charged to none of them.
 */
#define PARKED_BYTES_MAX (16ull << 20)

/*
 * A process in the cell reports that it is done: see done_call.h. Whether it is the program or a
 * child, and whether it is true or not: it sleeps. If it is alone, no code of the cell runs any
 * more, and its state is final. 1: the run has ended; 0: it has not.
 */
static int take_done(struct run *run)
{
	struct native_cell *native = native_of(run);
	bool runs = run->state == RUN_ASSIGNED || run->state == RUN_RUNNING;
	bool driven = native->driver.state == DRIVER_NONE || native->driver.state == DRIVER_DONE;

	/*
	 * Only for cells made ahead, which are freed later; and a status reported by brig-init
	 * takes precedence.
	 */
	if (!spec_traits(run->options.spec)->ahead || !runs || !driven || native->build_errnum ||
	    run->facts.exited || run->life != CELL_LIVES) {
		return 0;
	}
	enum ending due = watch_look(&run->watch, clock_now_ns(), &run->facts);
	if (due != ENDING_NONE) {
		run_end(run, due);
		return 0;
	}
	if (run->facts.tasks_now != PARKED_TASKS ||
	    run->facts.memory_peak_bytes > PARKED_BYTES_MAX) {
		return 0;
	}
	run_enter_life(run, CELL_PARKED);
	run->facts.exited = true;
	run->facts.end_code = CLD_EXITED;
	run->facts.end_status = native->calls.denials.done_status;
	return 1;
}

int native_listen_again(struct run *run)
{
	return call_listener_resume(&native_of(run)->calls);
}

int native_on_denial(struct run *run)
{
	struct native_cell *native = native_of(run);
	struct denials *denials = &native->calls.denials;
	bool open = denials_receive(denials);
	if (denials->done) {
		int r = native_on_control(run);
		if (r == 0) {
			r = take_done(run);
		}
		if (r != 0) {
			return r;
		}
		/* A process that is being killed need not be woken. */
		open = run->state >= RUN_ENDING || denials_dismiss(denials);
		denials->done = false;
	}
	return call_listener_settle(&native->calls, open);
}

/* Its death may take longer than its life, perhaps on our processor: it must not run before us. */
void native_kill_parked(struct run *run)
{
	const struct denials *denials = &native_of(run)->calls.denials;
	struct sched_param same = { 0 };

	/* If it has died in its sleep, its pid may have been reused. */
	if (denials_is_asleep(denials)) {
		sched_setscheduler(denials->done_pid, SCHED_BATCH, &same);
	}
	native_kill(run);
}
