/* SPDX-License-Identifier: Apache-2.0 */
/* What the listener tells: refused calls, and that a program is done (done.h). */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "native/native.h"

/* Between two answers to who asks all the time: at most a hundred turns of the loop a second. */
#define TIRED_NS 10000000u
/* Brig-init, and who has said that it is done. */
#define PARKED_TASKS 2
/*
 * What may be left for the kernel to take apart when the run counts as ended. Who has used more is
 * waited for: else runs, one after the other, could hold more memory than as many as run at once
 * may, and work of the kernel that nobody is billed for.
 */
#define PARKED_BYTES_MAX (16ull << 20)

/*
 * Somebody in the cell is done: see done.h. Whoever it is, a program or a child of it, true or not:
 * it sleeps. If it is alone, the cell is at rest, and what can be seen of it now is all that there
 * will ever be. 1: that is the end; 0: not now.
 */
static int take_done(struct run *run)
{
	struct native_cell *native = native_of(run);
	bool runs = run->state == RUN_ASSIGNED || run->state == RUN_RUNNING;
	bool driven = native->driver.state == DRIVER_NONE || native->driver.state == DRIVER_DONE;

	/* Only what is buried later; and brig-init's word on how it ended comes first. */
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

/* Calls that come meanwhile wait. */
static int stop_listening(struct run *run)
{
	struct native_cell *native = native_of(run);
	native->denials.tired = false;
	run->cell_alarm_ns = clock_now_ns() + TIRED_NS;
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
	bool hears = denials_hear(&native->denials);
	if (native->denials.done) {
		int r = native_on_control(run);
		if (r == 0) {
			r = take_done(run);
		}
		if (r != 0) {
			return r;
		}
		/* Who is being killed need not wake up for it. */
		hears = run->state >= RUN_ENDING || denials_dismiss(&native->denials);
		native->denials.done = false;
	}
	if (!hears) {
		/*
		 * Taken out by name: brig-init may hold a copy, and a close alone would not do
		 * it.
		 */
		epoll_ctl(run->epoll, EPOLL_CTL_DEL, native->denials.listener, NULL);
		denials_done(&native->denials);
	}
	run_end_over(run);
	return hears && native->denials.tired && run->state < RUN_ENDING ? stop_listening(run) : 0;
}

/* Its death takes longer than it has lived, perhaps on our processor: it must not go first. */
void native_kill_parked(struct run *run)
{
	struct native_cell *native = native_of(run);
	struct sched_param same = { 0 };

	/* If it has died in its sleep, the number may be another's by now. */
	if (denials_is_asleep(&native->denials)) {
		sched_setscheduler(native->denials.done_pid, SCHED_BATCH, &same);
	}
	native_kill(run);
}
