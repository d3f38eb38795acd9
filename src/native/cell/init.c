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
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/process.h"
#include "kernel/sys.h"

int init_lift(int *fd)
{
	if (*fd > 2) {
		return 0;
	}
	*fd = fcntl(*fd, F_DUPFD_CLOEXEC, 3);
	return *fd < 0 ? -errno : 0;
}

/* With pid 1 the kernel kills all other processes in the namespace (pid_namespaces(7)). */
static _Noreturn void exit_cell(void)
{
	_exit(125);
}

_Noreturn void init_die(struct cell *cell, unsigned step, int errnum)
{
	struct wire_record record = { .kind = WIRE_FAILED, .value = step, .errnum = errnum };

	wire_send(cell->control, &record, NULL, 0);
	exit_cell();
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

/* True: the program itself has ended; *ended has its status. */
static bool reap_children(struct cell *cell, siginfo_t *ended)
{
	for (;;) {
		siginfo_t info = { 0 };
		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG) < 0) {
			if (errno == EINTR) {
				continue;
			}
			/* the program is our child: without waitid its end would go unnoticed */
			exit_cell();
		}
		if (info.si_pid == 0) {
			return false;
		}
		if (info.si_pid == cell->payload) {
			*ended = info;
			return true;
		}
	}
}

/* The warden requests a pidfd of the program; any other message means that the cell must end. */
static bool send_program(struct cell *cell)
{
	struct wire_record record;
	int fds[WIRE_FDS_MAX];
	unsigned count = 0;

	if (wire_receive(cell->control, &record, fds, &count) != 1 ||
	    record.kind != WIRE_GET_PROGRAM || count != 0) {
		return false;
	}
	int pidfd = sys_pidfd_open(cell->payload, 0);
	if (pidfd >= 0) {
		record = (struct wire_record){ .kind = WIRE_PROGRAM };
		wire_send(cell->control, &record, &pidfd, 1);
		close(pidfd);
	}
	return true;
}

static void wait_for_program(struct cell *cell, siginfo_t *ended)
{
	sigset_t children;

	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	/*
	 * Blocked since before the clone; set again, because without it no death would be noticed.
	 */
	if (sigprocmask(SIG_BLOCK, &children, NULL) < 0) {
		init_die(cell, cell->failed, errno);
	}
	int signals = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0) {
		init_die(cell, cell->failed, errno);
	}
	struct pollfd ready[2] = {
		{ .fd = signals, .events = POLLIN },
		{ .fd = cell->control, .events = POLLIN },
	};
	/* Checked before the first sleep: the program may have ended already. */
	while (!reap_children(cell, ended)) {
		struct signalfd_siginfo drain;
		if (poll(ready, 2, -1) < 0 && errno != EINTR) {
			exit_cell();
		}
		while (read(signals, &drain, sizeof(drain)) > 0) {
		}
		if (ready[1].revents && !send_program(cell)) {
			exit_cell(); /* the warden is gone, or ends the cell */
		}
	}
}

/*
 * A process that loses its parent becomes our child: without children no other process is left.
 * Then the warden need not wait until this process is gone too, with all its namespaces.
 */
static bool is_alone(void)
{
	siginfo_t info = { 0 };

	for (;;) {
		info.si_pid = 0;
		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | __WALL) < 0) {
			if (errno == EINTR) {
				continue;
			}
			return errno == ECHILD;
		}
		if (info.si_pid == 0) {
			return false;
		}
	}
}

_Noreturn void init_main(struct cell *cell)
{
	siginfo_t ended;

	/* Only the warden may have its own end, or its death would go unnoticed. */
	close_fd(&cell->control);
	cell->control = cell->control_inside;
	int r = init_lift(&cell->control);
	for (int i = 0; i < 3 && r == 0; i++) {
		r = init_lift(&cell->stdio[i]);
	}
	int *more[] = { &cell->value_fd, &cell->channel_fd, &cell->assignment_fd, &cell->go[0] };
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
	struct wire_record record = { .kind = WIRE_STARTED };
	wire_send(cell->control, &record, NULL, 0);

	wait_for_program(cell, &ended);
	record = (struct wire_record){
		.kind = WIRE_EXITED,
		.value = (uint32_t)ended.si_code | (is_alone() ? WIRE_ALONE : 0),
		.status = ended.si_status,
		.cpu_ns = process_children_cpu_ns(),
	};
	wire_send(cell->control, &record, NULL, 0);
	/* With pid 1 the kernel kills and reaps all processes left in the namespace. */
	_exit(0);
}
