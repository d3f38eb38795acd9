/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SIGTERM for the program. It is sent from outside of the cell: brig-init sends a pidfd of the
 * program on request.
 */
#include <signal.h>
#include <unistd.h>

#include "base/invariant.h"
#include "kernel/sys.h"
#include "native/native_internal.h"

#ifndef PIDFD_SIGNAL_PROCESS_GROUP
#define PIDFD_SIGNAL_PROCESS_GROUP (1u << 2) /* Linux 6.9 */
#endif

static const uint32_t request_edges[REQUEST_STATES] = {
	[REQUEST_NONE] = STATE_BIT(REQUEST_SENT),
	[REQUEST_SENT] = STATE_BIT(REQUEST_NONE) | STATE_BIT(REQUEST_ANSWERED),
	[REQUEST_ANSWERED] = STATE_BIT(REQUEST_NONE),
};

void native_request_enter(struct native_cell *native, enum native_request request)
{
	invariant(state_allows(request_edges, native->request, request));
	native->request = request;
}

/*
 * The program may have begun before brig-init's message about that is read: a program that is still
 * being started is asked to end as soon as it is known to have begun. A cell that is made ahead has
 * no program while it is built, nor has a session's cell.
 */
bool native_has_program(const struct run *run)
{
	bool ahead = spec_traits(run->options.spec)->ahead;
	bool starting = run->state == RUN_ASSIGNED || (run->state == RUN_SETTING_UP && !ahead);

	if (native_of(run)->wire == WIRE_ENDED) {
		return false; /* it has ended: processes that it left behind are killed at once */
	}
	return run->state == RUN_RUNNING || (starting && !run->options.session);
}

int native_ask_to_end(struct run *run)
{
	struct native_cell *native = native_of(run);
	struct wire_record record = { .kind = WIRE_GET_PROGRAM };

	/* A response that is still due for the round before serves as well. */
	if (native->request != REQUEST_NONE || run->state != RUN_RUNNING ||
	    native->wire != WIRE_RUNNING) {
		return 0;
	}
	native_request_enter(native, REQUEST_SENT);
	return wire_send(native->cell.control, &record, NULL, 0);
}

/* Signals the program's process group, where the kernel can do that; else the program itself. */
bool native_take_program(struct run *run, int pidfd)
{
	struct native_cell *native = native_of(run);

	if (native->request != REQUEST_SENT) {
		return false;
	}
	/* The round of the request may have ended meanwhile: then it can be requested again. */
	native_request_enter(native, run->grace_end_ns ? REQUEST_ANSWERED : REQUEST_NONE);
	if (pidfd >= 0 && native->request == REQUEST_ANSWERED && run->state < RUN_ENDING &&
	    syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, NULL, PIDFD_SIGNAL_PROCESS_GROUP) < 0) {
		sys_pidfd_send_signal(pidfd, SIGTERM);
	}
	return true;
}
