/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor of a local run: see local.h. It is a clone of the host program, which may have
 * threads: only async-signal-safe calls are made here.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/process.h"
#include "kernel/sys.h"
#include "local/local.h"
#include "local/orphans.h"
#include "run/spec/rlimits.h"
#include "run/streams/terminal.h"

/* Moves a descriptor that must survive until the exec above those of the program. */
static int lift_fd(int *fd)
{
	int low = *fd;

	*fd = fcntl(low, F_DUPFD_CLOEXEC, 3);
	close(low);
	return *fd < 0 ? -errno : 0;
}

static void send_message(int control, const struct local_message *message)
{
	while (send(control, message, sizeof(*message), MSG_NOSIGNAL) < 0 && errno == EINTR) {
	}
}

static _Noreturn void leave(void)
{
	orphans_kill();
	_exit(125);
}

static _Noreturn void fail_start(int control, enum local_stage stage, int errnum)
{
	struct local_message message = { .kind = LOCAL_FAILED, .stage = stage, .errnum = errnum };

	send_message(control, &message);
	leave();
}

/* --- the program ------------------------------------------------------------------------------ */

static int take_stdio(struct local_start *start)
{
	for (int i = 0; i < 3; i++) {
		if (dup2(start->stdio[i], i) < 0) {
			return -errno;
		}
	}
	int r = start->terminal ? terminal_take() : 0;
	return r < 0 ? r : sys_close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
}

static int take_limits(const struct spec *spec)
{
	struct rlimit_value values[RLIMITS_MAX];
	size_t count = rlimits_of(spec, RLIMITS_ALL, values);
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++) {
		r = rlimit_lower(values[i].resource, values[i].value);
	}
	return r;
}

static int begin_session(pid_t supervisor)
{
	sigset_t none;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || setsid() < 0) {
		return -errno;
	}
	if (getppid() != supervisor) {
		return -ECANCELED;
	}
	umask(022);
	sigemptyset(&none);
	return sigprocmask(SIG_SETMASK, &none, NULL) < 0 ? -errno : 0;
}

/* Only a failure returns. */
static int become_program(struct local_start *start, pid_t supervisor, enum local_stage *stage)
{
	const struct spec *spec = start->spec;

	*stage = LOCAL_SPAWN;
	int r = begin_session(supervisor);
	if (r < 0) {
		return r;
	}
	*stage = LOCAL_STDIO;
	r = take_stdio(start);
	if (r < 0) {
		return r;
	}
	*stage = LOCAL_DIRECTORY;
	if (chdir(spec->workdir) < 0) {
		return -errno;
	}
	*stage = LOCAL_LIMITS;
	r = take_limits(spec);
	if (r < 0) {
		return r;
	}
	*stage = LOCAL_EXEC;
	execve(spec->argv[0], (char *const *)(uintptr_t)spec->argv,
	       (char *const *)(uintptr_t)spec->envp);
	return -errno;
}

/* Uses a pipe that closes at exec: the program has begun, or the message in it has the error. */
static pid_t start_program(struct local_start *start)
{
	struct local_message message = { .kind = LOCAL_FAILED };
	pid_t supervisor = getpid();
	int ends[2];

	/* Above 2: those numbers are the program's, and are free here. */
	int r = pipe2(ends, O_CLOEXEC) < 0 ? -errno : 0;
	r = r < 0 ? r : lift_fd(&ends[0]);
	r = r < 0 ? r : lift_fd(&ends[1]);
	if (r < 0) {
		fail_start(start->control, LOCAL_SPAWN, -r);
	}
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid < 0) {
		fail_start(start->control, LOCAL_SPAWN, errno);
	}
	if (pid == 0) {
		enum local_stage stage = LOCAL_SPAWN;
		r = become_program(start, supervisor, &stage);
		message.stage = stage;
		message.errnum = -r;
		if (write(ends[1], &message, sizeof(message)) < 0) {
			_exit(126);
		}
		_exit(127);
	}
	close(ends[1]);
	ssize_t n;
	do {
		n = read(ends[0], &message, sizeof(message));
	} while (n < 0 && errno == EINTR);
	close(ends[0]);
	if (n != 0) {
		fail_start(start->control, message.stage,
			   n == sizeof(message) ? message.errnum : EIO);
	}
	message = (struct local_message){ .kind = LOCAL_STARTED };
	send_message(start->control, &message);
	return pid;
}

/* --- the supervisor --------------------------------------------------------------------------- */

static int join_group(const struct local_start *start)
{
	for (int i = 0; i < start->join_count; i++) {
		if (write(start->join[i], "0", 1) != 1) {
			return -errno;
		}
	}
	return 0;
}

/* Closes everything but the control socket and the streams. */
static int close_others(const struct local_start *start)
{
	int keep[4] = { start->control, start->stdio[0], start->stdio[1], start->stdio[2] };
	unsigned next = 0;

	for (int i = 0; i < 4; i++) {
		for (int j = i + 1; j < 4; j++) {
			if (keep[j] < keep[i]) {
				int other = keep[i];
				keep[i] = keep[j];
				keep[j] = other;
			}
		}
		if ((unsigned)keep[i] > next &&
		    sys_close_range(next, (unsigned)keep[i] - 1, 0) < 0) {
			return -errno;
		}
		next = (unsigned)keep[i] + 1;
	}
	return sys_close_range(next, ~0u, 0);
}

/* True: the program itself has ended; *ended has its status. */
static bool reap_children(pid_t program, siginfo_t *ended)
{
	for (;;) {
		siginfo_t info = { 0 };
		if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG) < 0) {
			if (errno == EINTR) {
				continue;
			}
			leave(); /* the program's end would never be noticed */
		}
		if (info.si_pid == 0) {
			return false;
		}
		if (info.si_pid == program) {
			*ended = info;
			return true;
		}
	}
}

/* False: the warden is gone, or ends the run. */
static bool handle_command(int control, pid_t program)
{
	char command = 0;
	ssize_t n = recv(control, &command, 1, MSG_DONTWAIT);

	if (n < 0) {
		return errno == EAGAIN || errno == EINTR;
	}
	if (n == 1 && command == LOCAL_TERM) {
		kill(-program, SIGTERM);
	}
	return n == 1;
}

static bool wait_for_go(int control)
{
	char command = 0;
	ssize_t n;

	do {
		n = recv(control, &command, 1, 0);
	} while (n < 0 && errno == EINTR);
	return n == 1 && command == LOCAL_GO;
}

static void wait_for_end(int control, pid_t program, siginfo_t *ended)
{
	sigset_t children;

	sigemptyset(&children);
	sigaddset(&children, SIGCHLD); /* blocked since before the clone */
	struct pollfd ready[2] = {
		{ .fd = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK), .events = POLLIN },
		{ .fd = control, .events = POLLIN },
	};
	if (ready[0].fd < 0) {
		fail_start(control, LOCAL_SPAWN, errno);
	}
	/* Checked before the first sleep: the program may have ended already. */
	while (!reap_children(program, ended)) {
		struct signalfd_siginfo drain;
		if (poll(ready, 2, -1) < 0 && errno != EINTR) {
			leave();
		}
		while (read(ready[0].fd, &drain, sizeof(drain)) > 0) {
		}
		if (ready[1].revents && !handle_command(control, program)) {
			leave();
		}
	}
}

_Noreturn void local_supervise(struct local_start *start)
{
	siginfo_t ended = { 0 };
	int r = process_reset_signals();

	r = r < 0 ? r : lift_fd(&start->control);
	for (int i = 0; i < 3 && r == 0; i++) {
		r = lift_fd(&start->stdio[i]);
	}
	r = r < 0 ? r : join_group(start);
	if (r < 0) {
		fail_start(start->control, LOCAL_GROUP, -r);
	}
	/* The warden's own end is closed too: the supervisor must notice the warden's death. */
	r = close_others(start);
	if (r < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0) {
		fail_start(start->control, LOCAL_SPAWN, r < 0 ? -r : errno);
	}
	if (!wait_for_go(start->control)) {
		_exit(125);
	}
	pid_t program = start_program(start);
	for (int i = 0; i < 3; i++) {
		close_fd(&start->stdio[i]);
	}
	wait_for_end(start->control, program, &ended);
	struct local_message message = {
		.kind = LOCAL_EXITED,
		.code = ended.si_code,
		.status = ended.si_status,
		.cpu_ns = process_children_cpu_ns(),
	};
	send_message(start->control, &message);
	orphans_kill();
	_exit(0);
}
