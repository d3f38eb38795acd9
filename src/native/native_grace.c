/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A time of grace: a program that has to end is told so by SIGTERM, and has until then to put its
 * things in order. The signal comes from outside of the cell; brig-init only says which process it
 * is for. Nothing that happens in the cell moves the deadline, and the verdict stands already.
 */
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "kernel/sys.h"
#include "run/run_internal.h"

#ifndef PIDFD_SIGNAL_PROCESS_GROUP
#define PIDFD_SIGNAL_PROCESS_GROUP (1u << 2)
#endif

/* Whatever else ends a run is no matter of time, and ends it at once. */
static bool is_due_to_time(enum ending why)
{
	return why == ENDING_WALL || why == ENDING_CPU || why == ENDING_CANCELLED;
}

/*
 * The program may have begun before brig-init's word of it is read: one that is still being started
 * is told as soon as it is known to have begun. A cell that is made ahead has no program while it
 * is set up, nor has a session's.
 */
static bool has_program(const struct run *run)
{
	const struct spec *spec = run->options.spec;
	bool ahead = spec->held || spec->prestarted;
	bool starting = run->state == RUN_ASSIGNED || (run->state == RUN_SETTING_UP && !ahead);

	if (run->wire == WIRE_ENDED) {
		return false; /* it has ended: what it left behind is told nothing */
	}
	return run->state == RUN_RUNNING || (starting && !run->options.session);
}

static int ask_who(struct run *run)
{
	struct wire_record record = { .kind = WIRE_WHO };

	if (!run->grace_end_ns || run->grace_asked || run->state != RUN_RUNNING ||
	    run->wire != WIRE_RUNNING) {
		return 0; /* not now */
	}
	run->grace_asked = true;
	return wire_send(run->cell.control, &record, NULL, 0);
}

bool run_grace_begin(struct run *run, enum ending why)
{
	uint64_t grace_ns = run->options.spec->limits.grace_ns;

	if (grace_ns == 0 || run->grace_end_ns || !has_program(run) || !is_due_to_time(why)) {
		return false;
	}
	run->grace_end_ns = clock_now_ns() + grace_ns;
	if (ask_who(run) < 0) {
		run->grace_end_ns = 0;
		return false;
	}
	run->facts.ending = why;
	run_arm(run);
	return true;
}

void run_grace_begun(struct run *run)
{
	if (ask_who(run) < 0) {
		run_end_now(run, run->facts.ending); /* nobody is there to tell it */
	}
}

bool run_grace_answered(struct run *run)
{
	if (!run->grace_asked || run->grace_told) {
		return false; /* nobody asked */
	}
	run->grace_told = true;
	return true;
}

/* The program's process group, where the kernel can tell it; else the program itself. */
bool run_grace_tell(struct run *run, int pidfd)
{
	if (!run_grace_answered(run)) {
		return false;
	}
	if (syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, NULL, PIDFD_SIGNAL_PROCESS_GROUP) < 0) {
		sys_pidfd_send_signal(pidfd, SIGTERM);
	}
	return true;
}

/* In that time the other limits hold; those of time have been reached. */
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
