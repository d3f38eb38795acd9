/* SPDX-License-Identifier: Apache-2.0 */
/* Handles the listener's calls: refused calls, and reports of being done (done_call.h). */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "native/native_internal.h"

/*
 * The pause between two answers to a program that calls sysinfo all the time: at most a hundred
 * turns of the loop a second.
 */
#define PAUSE_NS 10000000u
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
	 * Only for warm cells, which are freed later; and a status reported by brig-init takes
	 * precedence.
	 */
	if (!run->options.warm || !runs || !driven || native->build_errnum || run->facts.exited) {
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
	run->parked = run->facts.exited = true;
	run->facts.end_code = CLD_EXITED;
	run->facts.end_status = native->denials.done_status;
	return 1;
}

static int listen_for(struct run *run, uint32_t events)
{
	struct native_cell *native = native_of(run);
	struct epoll_event want = { .events = events,
				    .data = { .u32 = RUN_EVENT_CELL + NATIVE_EVENT_DENIAL } };

	return epoll_ctl(run->epoll, EPOLL_CTL_MOD, native->denials.listener, &want) < 0 ? -errno
											 : 0;
}

/* Calls that arrive meanwhile wait. */
static int stop_listening(struct run *run)
{
	struct native_cell *native = native_of(run);
	native->denials.pause_due = false;
	run->cell_alarm_ns = clock_now_ns() + PAUSE_NS;
	int r = listen_for(run, 0);
	return r < 0 ? r : run_arm(run);
}

int native_listen_again(struct run *run)
{
	struct native_cell *native = native_of(run);
	run->cell_alarm_ns = 0;
	return native->denials.listener < 0 ? 0 : listen_for(run, EPOLLIN);
}

int native_on_denial(struct run *run)
{
	struct native_cell *native = native_of(run);
	bool open = denials_receive(&native->denials);
	if (native->denials.done) {
		int r = native_on_control(run);
		if (r == 0) {
			r = take_done(run);
		}
		if (r != 0) {
			return r;
		}
		/* A process that is being killed need not be woken. */
		open = run->state >= RUN_ENDING || denials_dismiss(&native->denials);
		native->denials.done = false;
	}
	if (!open) {
		/*
		 * Removed explicitly: brig-init may hold a copy, and then closing alone would not
		 * remove it.
		 */
		epoll_ctl(run->epoll, EPOLL_CTL_DEL, native->denials.listener, NULL);
		denials_done(&native->denials);
	}
	run_end_over(run);
	return open && native->denials.pause_due && run->state < RUN_ENDING ? stop_listening(run)
									    : 0;
}

/* Its death may take longer than its life, perhaps on our processor: it must not run before us. */
void native_kill_parked(struct run *run)
{
	struct native_cell *native = native_of(run);
	struct sched_param same = { 0 };

	/* If it has died in its sleep, its pid may have been reused. */
	if (denials_is_asleep(&native->denials)) {
		sched_setscheduler(native->denials.done_pid, SCHED_BATCH, &same);
	}
	native_kill(run);
}
