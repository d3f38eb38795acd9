/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the payload process comes to be, and to exec.
 *
 * It is spawned with a descriptor table shared with brig-init: so its seccomp listener is in our
 * table too, and we can hand it to the warden although the payload's filter may forbid it to send
 * anything. While it drops what it has, brig-init gives up its own privileges beside it; the
 * program's first instruction comes only after both are done:
 *
 *	payload                            brig-init
 *	  session ... seccomp                init.seal
 *	  note: listener is fd N     --->    sends it to the warden
 *	  note: ready                --->    takes a descriptor table of its own
 *	  waits                      <---    go; in a cell made ahead it is the warden who says so
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
#include "native/init.h"

_Noreturn void payload_die(struct cell *cell, int errnum)
{
	init_note_write(cell->note[1], INIT_NOTE_FAILED, cell->failed, errnum);
	_exit(127);
}

static _Noreturn void payload_main(struct cell *cell)
{
	int r = cell_execute(cell, ACTOR_PAYLOAD);

	/* Only a failure comes back: the last step is exec. */
	payload_die(cell, -r);
}

/*
 * The limit on open files is in force before the last walls are: what they open (two at a time, and
 * the listener) must find numbers below the least limit there is. So the pipes go above it. On a
 * host that has no numbers there, they stay where they are.
 */
static int make_room(int *fd)
{
	int above = fcntl(*fd, F_DUPFD_CLOEXEC, INIT_ROOM_FDS);

	if (above < 0) {
		return errno == EINVAL || errno == EMFILE ? init_lift(fd) : -errno;
	}
	/* The copy below 3 stays: a number left free there would be taken, then lost to stdio. */
	if (*fd > 2) {
		close(*fd);
	}
	*fd = above;
	return 0;
}

int step_spawn(struct cell *cell, const struct step *step)
{
	(void)step;
	/* Pipes: a socket would be one of the cell's network, for the program to see. */
	if (pipe2(cell->note, O_CLOEXEC) < 0 ||
	    (cell->go[0] < 0 && pipe2(cell->go, O_CLOEXEC) < 0)) {
		return -errno;
	}
	int *ends[] = { &cell->note[0],       &cell->note[1],  &cell->go[0],     &cell->go[1],
			&cell->assignment_fd, &cell->value_fd, &cell->channel_fd };
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

/* The payload's side: everything is dropped; waits until brig-init is sealed as well. */
int step_go(struct cell *cell, const struct step *step)
{
	struct init_go go;
	ssize_t n;
	int r = init_note_write(cell->note[1], INIT_NOTE_READY, 0, 0);

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
	/* Of what a cell made ahead could give, what is wanted of this one stays. */
	if (go.wants == INIT_WANTS_CHANNEL && cell->channel_fd >= 0) {
		close_fd(&cell->value_fd);
		cell->value_fd = TAKE_FD(cell->channel_fd);
	} else if (go.wants == INIT_WANTS_NOTHING) {
		close_fd(&cell->value_fd);
	}
	close_fd(&cell->channel_fd);
	return 0;
}

/* The next note, checked; 0: the payload's end has closed; -errno. A dead warden ends the wait. */
static int next_note(struct cell *cell, enum init_note_state *state, struct init_note *note)
{
	struct pollfd ready[3] = {
		{ .fd = cell->note[0], .events = POLLIN },
		{ .fd = cell->control, .events = POLLIN },
		{ .fd = cell->payload_pidfd, .events = POLLIN },
	};

	while (poll(ready, 3, -1) < 0) {
		if (errno != EINTR) {
			return -errno;
		}
	}
	if (ready[0].revents) {
		int r = init_note_read(cell->note[0], note);
		int checked = r == 1 ? init_note_check(state, note, cell->plan->count) : 0;
		return checked < 0 ? checked : r;
	}
	/* Gone: the warden, or the payload without a word. */
	return ready[1].revents ? -ECANCELED : -ECHILD;
}

static int take_note(struct cell *cell, const struct init_note *note)
{
	struct wire_record record = { .kind = WIRE_LISTENER };
	int listener = (int)note->value;
	int r;

	switch (note->kind) {
	case INIT_NOTE_FAILED:
		init_die(cell, note->value, note->errnum);
	case INIT_NOTE_LISTENER:
		record.value = (uint32_t)note->errnum;
		r = wire_send(cell->control, &record, &listener, 1);
		close(listener); /* the warden's alone from here on */
		return r;
	case INIT_NOTE_READY:
		return 1;
	default:
		return -EPROTO;
	}
}

int step_ready(struct cell *cell, const struct step *step)
{
	enum init_note_state state = INIT_NOTES_NONE;
	struct init_note note = { 0 };
	int r = 0;

	(void)step;
	while (r == 0) {
		r = next_note(cell, &state, &note);
		r = r == 1 ? take_note(cell, &note) : r < 0 ? r : -ECHILD;
	}
	return r < 0 ? r : 0;
}

/* From here on the tables are two: closing its ends in ours leaves it the only holder. */
static int part_tables(struct cell *cell)
{
	if (unshare(CLONE_FILES) < 0) {
		return -errno;
	}
	close_fd(&cell->note[1]);
	close_fd(&cell->go[0]);
	close_fd(&cell->assignment_fd);
	close_fd(&cell->value_fd);
	close_fd(&cell->channel_fd);
	return 0;
}

/* Keeps these two, which are above 2. */
static int close_but(int a, int b)
{
	unsigned low = (unsigned)(a < b ? a : b), high = (unsigned)(a < b ? b : a);
	int r = sys_close_range(0, low - 1, 0);

	if (r == 0 && low + 1 < high) {
		r = sys_close_range(low + 1, high - 1, 0);
	}
	return r < 0 ? r : sys_close_range(high + 1, ~0u, 0);
}

/*
 * A cell made ahead is sealed on both sides. From here on it is the warden who says go, to the
 * payload itself; we only pass on what becomes of it.
 */
int step_hold(struct cell *cell, const struct step *step)
{
	struct wire_record record = { .kind = WIRE_HELD };
	struct sched_param same = { 0 };
	int r = part_tables(cell);

	(void)step;
	/* The end of the notes tells of the payload's own end too. */
	if (r == 0) {
		r = close_but(cell->control, cell->note[0]);
		cell->payload_pidfd = -1;
	}
	/*
	 * To pass on, and to die, is not urgent: with this we wait until those who work go to
	 * sleep, the warden and the program, rather than interrupt them.
	 */
	sched_setscheduler(0, SCHED_BATCH, &same);
	return r < 0 ? r : wire_send(cell->control, &record, NULL, 0);
}

static int say_go(struct cell *cell)
{
	struct init_go go = { .wants =
				      cell->value_fd >= 0 ? INIT_WANTS_VALUE : INIT_WANTS_NOTHING };
	int r = part_tables(cell);

	if (r == 0 && write(cell->go[1], &go, sizeof(go)) != sizeof(go)) {
		r = -EIO;
	}
	return r;
}

int step_start(struct cell *cell, const struct step *step)
{
	struct init_note note = { 0 };

	(void)step;
	int said = cell->plan->spec->held ? 0 : say_go(cell);
	if (said < 0) {
		return said;
	}
	enum init_note_state state = INIT_NOTES_READY;
	int r = next_note(cell, &state, &note);
	if (r == 1) {
		take_note(cell, &note); /* exec failed: does not come back */
		return -EPROTO;
	}
	/* A death right after exec is an end like any other: the reaper will tell. */
	return r == -ECHILD ? 0 : r;
}
