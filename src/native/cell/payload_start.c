/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts the payload process, up to its exec.
 *
 * It shares its descriptor table with brig-init at first: so its seccomp listener is in our table
 * too, and we can send it to the warden although the payload's filter may forbid it to send
 * anything. While it drops its privileges, brig-init gives up its own; the program's first
 * instruction comes only after both are done:
 *
 *	payload                            brig-init
 *	  session ... seccomp                init.seal
 *	  report: listener is fd N   --->    sends it to the warden
 *	  report: ready              --->    unshares the descriptor table
 *	  waits                      <---    go (in a cell made ahead the warden sends it)
 *	  exec: its end closes       --->    end of file: the program runs
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/sys.h"
#include "native/cell/init.h"
#include "native/cell/init_program.h"
#include "native/cell/init_rest.h"

_Noreturn void payload_die(struct cell *cell, int errnum)
{
	payload_report_write(cell->report_pipe[1], PAYLOAD_REPORT_FAILED, cell->failed, errnum);
	_exit(127);
}

static _Noreturn void payload_main(struct cell *cell)
{
	int r = cell_execute(cell, ACTOR_PAYLOAD);

	/* Returns only on failure: the last step is exec. */
	payload_die(cell, -r);
}

/*
 * The limit on open files applies before the last steps, whose descriptors (two at a time, and the
 * listener) need numbers below the lowest possible limit. So the pipes are moved above it. On a
 * host without numbers there, they stay where they are.
 */
static int make_room(int *fd)
{
	int above = fcntl(*fd, F_DUPFD_CLOEXEC, INIT_ROOM_FDS);

	if (above < 0) {
		return errno == EINVAL || errno == EMFILE ? init_lift(fd) : -errno;
	}
	/*
	 * A descriptor below 3 stays open: its number would be reused, and then overwritten by
	 * stdio.
	 */
	if (*fd > 2) {
		close(*fd);
	}
	*fd = above;
	return 0;
}

static int spawn_copy(struct cell *cell)
{
	int pid = sys_result(syscall(SYS_clone, CLONE_FILES | CLONE_PIDFD | SIGCHLD, NULL,
				     &cell->payload_pidfd, NULL, NULL));

	if (pid == 0) {
		payload_main(cell);
	}
	return pid;
}

static int twin_main(void *twin)
{
	payload_main(twin);
}

/*
 * The payload process gets our memory, not a copy of it, and brig-init leaves that by exec. Until
 * then both use it, with stacks and states of their own. They also share the C library's errno: so
 * from here on brig-init makes no call that may fail and is not the end of the cell, unless it is a
 * raw one.
 */
static int spawn_in_memory(struct cell *cell)
{
	*cell->twin = *cell;
	int pid = clone(twin_main, cell->twin_stack, CLONE_VM | CLONE_FILES | CLONE_PIDFD | SIGCHLD,
			cell->twin, &cell->payload_pidfd);
	return pid < 0 ? -errno : pid;
}

int step_spawn(struct cell *cell, const struct step *step)
{
	(void)step;
	/* Pipes: a socket would belong to the cell's network, where the program could see it. */
	cell->left[0] = cell->left[1] = -1;
	if (pipe2(cell->report_pipe, O_CLOEXEC) < 0 ||
	    (cell->go[0] < 0 && pipe2(cell->go, O_CLOEXEC) < 0) ||
	    (cell->twin && pipe2(cell->left, O_CLOEXEC) < 0)) {
		return -errno;
	}
	int *ends[] = { &cell->report_pipe[0], &cell->report_pipe[1], &cell->go[0],
			&cell->go[1],          &cell->assignment_fd,  &cell->value_fd,
			&cell->channel_fd,     &cell->left[0],        &cell->left[1] };
	int r = 0;
	for (size_t i = 0; i < ARRAY_SIZE(ends) && r == 0; i++) {
		r = *ends[i] < 0 ? 0 : make_room(ends[i]);
	}
	if (r < 0) {
		return r;
	}
	int pid = cell->twin ? spawn_in_memory(cell) : spawn_copy(cell);
	if (pid < 0) {
		return pid;
	}
	cell->payload = pid;
	return 0;
}

/* The payload's side: all privileges are dropped; waits until brig-init is sealed as well. */
int step_go(struct cell *cell, const struct step *step)
{
	struct init_go go;
	ssize_t n;
	int r = payload_report_write(cell->report_pipe[1], PAYLOAD_REPORT_READY, 0, 0);

	(void)step;
	if (r < 0) {
		return r;
	}
	do {
		n = read(cell->go[0], &go, sizeof(go));
	} while (n < 0 && errno == EINTR);
	if (n != sizeof(go)) {
		return -ECANCELED;
	}
	/* A cell made ahead has both descriptors; only the one that the request needs stays. */
	if (go.wants == INIT_WANTS_CHANNEL && cell->channel_fd >= 0) {
		close_fd(&cell->value_fd);
		cell->value_fd = TAKE_FD(cell->channel_fd);
	} else if (go.wants == INIT_WANTS_NOTHING) {
		close_fd(&cell->value_fd);
	}
	close_fd(&cell->channel_fd);
	return 0;
}

static int send_listener(struct cell *cell, const struct payload_report *report)
{
	struct wire_record record = { .kind = WIRE_LISTENER, .value = (uint32_t)report->errnum };
	int listener = (int)report->value;
	int r = wire_send(cell->control, &record, &listener, 1);

	close(listener); /* only the warden has it from here on */
	return r;
}

static bool has_listener(const struct cell *cell)
{
	for (unsigned i = 0; i < cell->plan->count; i++) {
		if (cell->plan->steps[i].kind == STEP_SECCOMP) {
			return cell->plan->steps[i].seccomp.listens;
		}
	}
	return false;
}

/*
 * The listener is in the table that the payload shares with us: it is sent from here. The rest is
 * the same in brig-init's own program, which this becomes as soon as it can if its memory is to be
 * the payload's.
 */
int step_ready(struct cell *cell, const struct step *step)
{
	const struct init_rest rest = init_rest_of(cell);
	enum payload_report_state state = PAYLOAD_REPORTS_NONE;
	struct payload_report report = { 0 };
	bool waits = !cell->twin || has_listener(cell);

	(void)step;
	while (waits && state != PAYLOAD_REPORTS_READY) {
		int r = init_rest_report(&rest, &state, &report);
		if (r != 1) {
			return r < 0 ? r : -ECHILD;
		}
		if (report.kind == PAYLOAD_REPORT_LISTENER) {
			r = send_listener(cell, &report);
			waits = !cell->twin;
		}
		if (r < 0) {
			return r;
		}
	}
	return cell->twin ? init_become_program(cell, state) : 0;
}

/* Separates the tables: when we close the payload's ends, only the payload has them. */
static int unshare_table(struct cell *cell)
{
	if (unshare(CLONE_FILES) < 0) {
		return -errno;
	}
	close_fd(&cell->report_pipe[1]);
	close_fd(&cell->go[0]);
	close_fd(&cell->assignment_fd);
	close_fd(&cell->value_fd);
	close_fd(&cell->channel_fd);
	return 0;
}

/* Closes all but these two, which are above 2. */
static int close_except(int a, int b)
{
	unsigned low = (unsigned)(a < b ? a : b), high = (unsigned)(a < b ? b : a);
	int r = sys_close_range(0, low - 1, 0);

	if (r < 0) {
		return r;
	}
	if (low + 1 < high) {
		r = sys_close_range(low + 1, high - 1, 0);
		if (r < 0) {
			return r;
		}
	}
	return sys_close_range(high + 1, ~0u, 0);
}

/*
 * A cell made ahead is sealed on both sides. From here on the warden sends the start message to the
 * payload itself; brig-init only passes on how it ends.
 */
int step_hold(struct cell *cell, const struct step *step)
{
	int r = unshare_table(cell);

	(void)step;
	if (r < 0) {
		return r;
	}
	/* The end of file on the reports also shows the payload's own end. */
	r = close_except(cell->control, cell->report_pipe[0]);
	if (r < 0) {
		return r;
	}
	cell->payload_pidfd = -1;
	const struct init_rest rest = init_rest_of(cell);
	return init_rest_hold(&rest);
}

static int send_go(struct cell *cell)
{
	struct init_go go = { .wants =
				      cell->value_fd >= 0 ? INIT_WANTS_VALUE : INIT_WANTS_NOTHING };
	int r = unshare_table(cell);

	if (r < 0) {
		return r;
	}
	return write(cell->go[1], &go, sizeof(go)) == sizeof(go) ? 0 : -EIO;
}

int step_start(struct cell *cell, const struct step *step)
{
	const struct init_rest rest = init_rest_of(cell);
	int sent = spec_traits(cell->plan->spec)->held ? 0 : send_go(cell);

	(void)step;
	return sent < 0 ? sent : init_rest_start(&rest);
}
