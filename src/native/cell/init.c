/* SPDX-License-Identifier: Apache-2.0 */
/*
 * brig-init: pid 1 of a cell.
 *
 * Privileges: root of the set-up user namespace while it builds the cell; none at all from
 * init.seal on. It reads nothing that the payload wrote: not its output, not its files, only the
 * kernel's report of its end. It cannot be traced (not dumpable: ptrace(2)), and as pid 1 it gets
 * no signal from inside (pid_namespaces(7)).
 *
 * How the payload process is started, and why it shares our descriptors at first: payload_start.c.
 */
#include "native/cell/init.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/sys.h"
#include "native/cell/init_rest.h"

int init_lift(int *fd)
{
	if (*fd > 2) {
		return 0;
	}
	*fd = fcntl(*fd, F_DUPFD_CLOEXEC, 3);
	return *fd < 0 ? -errno : 0;
}

struct init_rest init_rest_of(const struct cell *cell)
{
	return (struct init_rest){
		.control = cell->control,
		.reports = cell->report_pipe[0],
		.payload_pidfd = cell->payload_pidfd,
		.payload = cell->payload,
		.steps = cell->plan->count,
		.failed = cell->failed,
	};
}

_Noreturn void init_die(struct cell *cell, unsigned step, int errnum)
{
	const struct init_rest rest = init_rest_of(cell);

	init_rest_die(&rest, step, errnum);
}

/* Closes everything but the control socket. */
static int close_rest(const struct cell *cell)
{
	int r = 0;

	if (cell->control > 0) {
		r = sys_close_range(0, (unsigned)cell->control - 1, 0);
	}
	return r < 0 ? r : sys_close_range((unsigned)cell->control + 1, ~0u, 0);
}

_Noreturn void init_main(struct cell *cell)
{
	/* Only the warden may have its own end, or its death would go unnoticed. */
	close_fd(&cell->control);
	cell->control = cell->control_inside;
	int r = init_lift(&cell->control);
	for (int i = 0; i < 3 && r == 0; i++) {
		r = init_lift(&cell->stdio[i]);
	}
	int *more[] = { &cell->value_fd, &cell->channel_fd, &cell->assignment_fd, &cell->go[0],
			&cell->init_image };
	for (size_t i = 0; i < ARRAY_SIZE(more) && r == 0; i++) {
		r = *more[i] < 0 ? 0 : init_lift(more[i]);
	}
	if (r == 0) {
		r = cell_execute(cell, ACTOR_INIT);
	}
	if (r < 0) {
		init_die(cell, cell->failed, -r);
	}
	r = close_rest(cell);
	if (r < 0) {
		init_die(cell, cell->failed, -r);
	}
	const struct init_rest rest = init_rest_of(cell);
	init_rest_run(&rest);
}
