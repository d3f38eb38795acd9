/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGTERM for the program. It comes from outside of the cell: brig-init is asked which process the
 * program is, and sends a pidfd of it.
 */
#include <signal.h>
#include <unistd.h>

#include "kernel/sys.h"
#include "native/native.h"

#ifndef PIDFD_SIGNAL_PROCESS_GROUP
#define PIDFD_SIGNAL_PROCESS_GROUP (1u << 2) /* Linux 6.9 */
#endif

/*
 * The program may have begun before brig-init's message about it is read: one that is still being
 * started is asked to end as soon as it is known to have begun. A cell that is made ahead has no
 * program while it is built, nor has a session's.
 */
bool native_has_program(const struct run *run)
{
	const struct spec *spec = run->options.spec;
	bool ahead = spec->held || spec->prestarted;
	bool starting = run->state == RUN_ASSIGNED || (run->state == RUN_SETTING_UP && !ahead);

	if (native_of(run)->wire == WIRE_ENDED) {
		return false; /* it has ended: what it left behind is killed at once */
	}
	return run->state == RUN_RUNNING || (starting && !run->options.session);
}

int native_ask_to_end(struct run *run)
{
	struct native_cell *native = native_of(run);
	struct wire_record record = { .kind = WIRE_WHO };

	/* An answer that is still due, to a question of the round before, serves as well. */
	if (native->who != WHO_UNASKED || run->state != RUN_RUNNING ||
	    native->wire != WIRE_RUNNING) {
		return 0;
	}
	native->who = WHO_ASKED;
	return wire_send(native->cell.control, &record, NULL, 0);
}

/* The program's process group, where the kernel can do that; else the program itself. */
bool native_take_program(struct run *run, int pidfd)
{
	struct native_cell *native = native_of(run);

	if (native->who != WHO_ASKED) {
		return false;
	}
	/* The round that it was asked for may have ended meanwhile: then it can be asked again. */
	native->who = run->grace_end_ns ? WHO_TOLD : WHO_UNASKED;
	if (pidfd >= 0 && native->who == WHO_TOLD && run->state < RUN_ENDING &&
	    syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, NULL, PIDFD_SIGNAL_PROCESS_GROUP) < 0) {
		sys_pidfd_send_signal(pidfd, SIGTERM);
	}
	return true;
}
