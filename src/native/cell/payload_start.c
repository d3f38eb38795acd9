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
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/sys.h"
#include "native/cell/init.h"

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

int step_spawn(struct cell *cell, const struct step *step)
{
	(void)step;
	/* Pipes: a socket would belong to the cell's network, where the program could see it. */
	if (pipe2(cell->report_pipe, O_CLOEXEC) < 0 ||
	    (cell->go[0] < 0 && pipe2(cell->go, O_CLOEXEC) < 0)) {
		return -errno;
	}
	int *ends[] = { &cell->report_pipe[0], &cell->report_pipe[1], &cell->go[0],
			&cell->go[1],          &cell->assignment_fd,  &cell->value_fd,
			&cell->channel_fd };
	int r = 0;
	for (size_t i = 0; i < ARRAY_SIZE(ends) && r == 0; i++) {
		r = *ends[i] < 0 ? 0 : make_room(ends[i]);
	}
	if (r < 0) {
		return r;
	}
	long pid = syscall(SYS_clone, CLONE_FILES | CLONE_PIDFD | SIGCHLD, NULL,
			   &cell->payload_pidfd, NULL, NULL);
	if (pid < 0) {
		return -errno;
	}
	if (pid == 0) {
		payload_main(cell);
	}
	cell->payload = (pid_t)pid;
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

/*
 * The next report, checked; 0: the payload's end has closed; -errno. A dead warden ends the wait.
 */
static int next_report(struct cell *cell, enum payload_report_state *state,
		       struct payload_report *report)
{
	struct pollfd ready[3] = {
		{ .fd = cell->report_pipe[0], .events = POLLIN },
		{ .fd = cell->control, .events = POLLIN },
		{ .fd = cell->payload_pidfd, .events = POLLIN },
	};

	while (poll(ready, 3, -1) < 0) {
		if (errno != EINTR) {
			return -errno;
		}
	}
	if (ready[0].revents) {
		int r = payload_report_read(cell->report_pipe[0], report);
		int checked = r == 1 ? payload_report_check(state, report, cell->plan->count) : 0;
		return checked < 0 ? checked : r;
	}
	/* The warden is gone, or the payload without a report. */
	return ready[1].revents ? -ECANCELED : -ECHILD;
}

static int take_report(struct cell *cell, const struct payload_report *report)
{
	struct wire_record record = { .kind = WIRE_LISTENER };
	int listener = (int)report->value;
	int r;

	switch (report->kind) {
	case PAYLOAD_REPORT_FAILED:
		init_die(cell, report->value, report->errnum);
	case PAYLOAD_REPORT_LISTENER:
		record.value = (uint32_t)report->errnum;
		r = wire_send(cell->control, &record, &listener, 1);
		close(listener); /* only the warden has it from here on */
		return r;
	case PAYLOAD_REPORT_READY:
		return 1;
	default:
		return -EPROTO;
	}
}

int step_ready(struct cell *cell, const struct step *step)
{
	enum payload_report_state state = PAYLOAD_REPORTS_NONE;
	struct payload_report report = { 0 };
	int r = 0;

	(void)step;
	while (r == 0) {
		r = next_report(cell, &state, &report);
		r = r == 1 ? take_report(cell, &report) : r < 0 ? r : -ECHILD;
	}
	return r < 0 ? r : 0;
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
	struct wire_record record = { .kind = WIRE_HELD };
	struct sched_param same = { 0 };
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
	/*
	 * Passing on the status, and dying, is not urgent: with this policy brig-init waits until
	 * the warden and the program sleep, rather than interrupt them.
	 */
	sched_setscheduler(0, SCHED_BATCH, &same);
	return wire_send(cell->control, &record, NULL, 0);
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
	struct payload_report report = { 0 };

	(void)step;
	int sent = spec_traits(cell->plan->spec)->held ? 0 : send_go(cell);
	if (sent < 0) {
		return sent;
	}
	enum payload_report_state state = PAYLOAD_REPORTS_READY;
	int r = next_report(cell, &state, &report);
	if (r == 1) {
		take_report(cell, &report); /* exec failed: does not return */
		return -EPROTO;
	}
	/* A death right after exec is an ordinary end, which the reaper reports. */
	return r == -ECHILD ? 0 : r;
}
