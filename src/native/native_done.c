/* SPDX-License-Identifier: Apache-2.0 */
/* What the listener tells: refused calls, and that a program is done (done.h). */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>

#include "base/clock.h"
#include "run/run_internal.h"

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
	bool runs = run->state == RUN_ASSIGNED || run->state == RUN_RUNNING;
	bool driven = run->driver.state == DRIVER_NONE || run->driver.state == DRIVER_DONE;

	/* Only what is buried later; and brig-init's word on how it ended comes first. */
	if (!run->options.warm || !runs || !driven || run->setup_errnum || run->facts.exited) {
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
	run->facts.end_status = run->denials.done_status;
	return 1;
}

static int listen_for(struct run *run, uint32_t events)
{
	struct epoll_event want = { .events = events, .data = { .u32 = RUN_EVENT_DENIAL } };

	return epoll_ctl(run->epoll, EPOLL_CTL_MOD, run->denials.listener, &want) < 0 ? -errno : 0;
}

/* Calls that come meanwhile wait. */
static int stop_listening(struct run *run)
{
	run->denials.tired = false;
	run->listen_ns = clock_now_ns() + TIRED_NS;
	int r = listen_for(run, 0);
	return r < 0 ? r : run_arm(run);
}

int run_listen_again(struct run *run)
{
	run->listen_ns = 0;
	return run->denials.listener < 0 ? 0 : listen_for(run, EPOLLIN);
}

int run_on_denial(struct run *run)
{
	bool hears = denials_hear(&run->denials);
	if (run->denials.done) {
		int r = run_on_control(run);
		if (r == 0) {
			r = take_done(run);
		}
		if (r != 0) {
			return r;
		}
		/* Who is being killed need not wake up for it. */
		hears = run->state >= RUN_ENDING || denials_dismiss(&run->denials);
		run->denials.done = false;
	}
	if (!hears) {
		/*
		 * Taken out by name: brig-init may hold a copy, and a close alone would not do
		 * it.
		 */
		epoll_ctl(run->epoll, EPOLL_CTL_DEL, run->denials.listener, NULL);
		denials_done(&run->denials);
	}
	run_end_over(run);
	return hears && run->denials.tired && run->state < RUN_ENDING ? stop_listening(run) : 0;
}

/* Its death takes longer than it has lived, perhaps on our processor: it must not go first. */
void run_kill_parked(struct run *run)
{
	struct sched_param same = { 0 };

	/* If it has died in its sleep, the number may be another's by now. */
	if (denials_is_asleep(&run->denials)) {
		sched_setscheduler(run->denials.done_pid, SCHED_BATCH, &same);
	}
	run_kill(run);
}
