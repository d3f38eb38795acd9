/*
 * brig-init: pid 1 of a cell.
 *
 * Privileges: root of the set-up user namespace while it builds the cell; none at all from
 * init.seal on. It reads nothing that the payload wrote: not its output, not its files, only the
 * kernel's word on how it ended. It cannot be traced (not dumpable), and as pid 1 it gets no
 * signal from inside.
 *
 * The payload process is spawned with a shared descriptor table and vfork's rule (we sleep until
 * it execs or dies): so its seccomp listener is in our table too, and we can hand it to the warden
 * although the payload's filter may forbid it to send anything. exec gives it a table of its own.
 */
#include "core/init.h"

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
#include "core/init_orphans.h"
#include "kernel/sys.h"

int init_note(struct cell *cell, enum init_note_kind kind, uint32_t value, int errnum)
{
	struct init_note note = { .kind = kind, .value = value, .errnum = errnum };

	return write(cell->note[1], &note, sizeof(note)) == sizeof(note) ? 0 : -EIO;
}

/* 0, 1 and 2 will be the program's: what must survive until exec has to be above. */
static int lift(int *fd)
{
	if (*fd > 2) {
		return 0;
	}
	*fd = fcntl(*fd, F_DUPFD_CLOEXEC, 3);
	return *fd < 0 ? -errno : 0;
}

static _Noreturn void payload_main(struct cell *cell)
{
	int r = cell_execute(cell, ACTOR_PAYLOAD);

	/* Only a failure comes back: the last step is exec. */
	init_note(cell, INIT_NOTE_FAILED, cell->failed, -r);
	_exit(127);
}

static _Noreturn void die(struct cell *cell, unsigned step, int errnum)
{
	struct wire_record record = { .kind = WIRE_FAILED, .value = step, .errnum = errnum };

	wire_send(cell->control, &record, NULL, 0);
	_exit(125);
}

/* Passes on what the payload process noted before it execed or gave up. */
static int forward_notes(struct cell *cell)
{
	struct init_note note;
	ssize_t n;

	while ((n = read(cell->note[0], &note, sizeof(note))) > 0) {
		if (n != sizeof(note)) {
			return -EPROTO;
		}
		if (note.kind == INIT_NOTE_FAILED) {
			die(cell, note.value, note.errnum);
		}
		int listener = (int)note.value;
		struct wire_record record = { .kind = WIRE_LISTENER };
		int r = wire_send(cell->control, &record, &listener, 1);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

int step_spawn(struct cell *cell, const struct step *step)
{
	(void)step;
	if (pipe2(cell->note, O_CLOEXEC | O_NONBLOCK) < 0) {
		return -errno;
	}
	int r = lift(&cell->note[0]);
	if (r == 0) {
		r = lift(&cell->note[1]);
	}
	if (r < 0) {
		return r;
	}
	long pid = syscall(SYS_clone, CLONE_FILES | CLONE_VFORK | SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid < 0) {
		return -errno;
	}
	if (pid == 0) {
		payload_main(cell);
	}
	cell->payload = (pid_t)pid;
	return forward_notes(cell);
}

/* Keeps the control socket alone. */
static int close_rest(const struct cell *cell)
{
	int r = 0;

	if (cell->control > 0) {
		r = sys_close_range(0, (unsigned)cell->control - 1, 0);
	}
	return r < 0 ? r : sys_close_range((unsigned)cell->control + 1, ~0u, 0);
}

/* True: the program itself has ended, and *ended says how. */
static bool reap(const struct cell *cell, siginfo_t *ended)
{
	for (;;) {
		siginfo_t info = { 0 };
		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG) < 0 || info.si_pid == 0) {
			return false;
		}
		if (info.si_pid == cell->payload) {
			*ended = info;
			return true;
		}
	}
}

static void watch(struct cell *cell, siginfo_t *ended)
{
	sigset_t children;

	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	/* Blocked since before the clone; but were it not, no death would ever be heard of. */
	if (sigprocmask(SIG_BLOCK, &children, NULL) < 0) {
		die(cell, cell->failed, errno);
	}
	int signals = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0) {
		die(cell, cell->failed, errno);
	}
	struct pollfd ready[2] = {
		{ .fd = signals, .events = POLLIN },
		{ .fd = cell->control, .events = POLLIN },
	};
	/* The first look comes before the first sleep: it may have ended already. */
	while (!reap(cell, ended)) {
		struct signalfd_siginfo drain;
		if (poll(ready, 2, -1) < 0 && errno != EINTR) {
			_exit(125);
		}
		while (read(signals, &drain, sizeof(drain)) > 0) {
		}
		if (ready[1].revents) {
			orphans_kill(cell); /* the warden is gone, or wants an end */
			_exit(125);
		}
	}
}

_Noreturn void init_main(struct cell *cell)
{
	siginfo_t ended;

	cell->control = cell->control_inside;
	int r = lift(&cell->control);
	for (int i = 0; i < 3 && r == 0; i++) {
		r = lift(&cell->stdio[i]);
	}
	if (r == 0) {
		r = cell_execute(cell, ACTOR_INIT);
	}
	if (r < 0) {
		die(cell, cell->failed, -r);
	}
	r = close_rest(cell);
	if (r < 0) {
		die(cell, cell->failed, -r);
	}
	struct wire_record record = { .kind = WIRE_STARTED };
	wire_send(cell->control, &record, NULL, 0);

	watch(cell, &ended);
	record = (struct wire_record){
		.kind = WIRE_EXITED,
		.value = (uint32_t)ended.si_code,
		.status = ended.si_status,
	};
	wire_send(cell->control, &record, NULL, 0);
	orphans_kill(cell);
	/* With pid 1 the kernel kills and reaps all that is left in the namespace. */
	_exit(0);
}
