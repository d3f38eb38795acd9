/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The holder: see holder.h. It is a clone of the host program, which may have threads: only
 * async-signal-safe calls are made here.
 *
 * Privileges: root of its own user namespace, which the kernel maps to an ordinary user of the
 * host; none outside of it. It reads nothing that the cell writes.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/fdpass.h"
#include "holder/holder.h"
#include "kernel/process.h"
#include "kernel/sys.h"
#include "native/cell/cell.h"

static void send_message(const struct holder_start *start, const struct holder_message *message,
			 const int *fds, size_t count)
{
	struct iovec part = { .iov_base = (void *)(uintptr_t)message, .iov_len = sizeof(*message) };

	fdpass_send(start->control, &part, 1, fds, count, 0);
}

static _Noreturn void fail(const struct holder_start *start, enum holder_step step, int errnum)
{
	struct holder_message message = { .kind = HOLDER_FAILED, .value = step, .errnum = errnum };

	send_message(start, &message, NULL, 0);
	_exit(125);
}

/* --- descriptors ------------------------------------------------------------------------------ */

/* Above those of the tool, whose streams are 0 to 2. */
static int lift_fd(int *fd)
{
	int low = *fd;

	*fd = fcntl(low, F_DUPFD_CLOEXEC, 3);
	close(low);
	return *fd < 0 ? -errno : 0;
}

/* A descriptor of the plan's; -1: the step has none. */
static int step_fd(const struct step *step)
{
	return step->kind == STEP_MOUNT  ? step->mount.fd
	       : step->kind == STEP_GATE ? step->gate.fd
					 : -1;
}

static bool is_needed(const struct holder_start *start, int fd)
{
	if (fd == start->control || fd == start->stream || fd == start->log) {
		return true;
	}
	for (size_t i = 0; i < start->files.count; i++) {
		if (fd == start->files.fds[i]) {
			return true;
		}
	}
	for (int i = 0; i < start->join_count; i++) {
		if (fd == start->join[i]) {
			return true;
		}
	}
	for (unsigned i = 0; i < start->plan->count; i++) {
		if (fd == step_fd(&start->plan->steps[i])) {
			return true;
		}
	}
	return false;
}

/* The highest descriptor that is needed. */
static int last_needed(const struct holder_start *start)
{
	int last = start->control > start->stream ? start->control : start->stream;

	last = start->log > last ? start->log : last;
	for (size_t i = 0; i < start->files.count; i++) {
		last = start->files.fds[i] > last ? start->files.fds[i] : last;
	}
	for (int i = 0; i < start->join_count; i++) {
		last = start->join[i] > last ? start->join[i] : last;
	}
	for (unsigned i = 0; i < start->plan->count; i++) {
		int fd = step_fd(&start->plan->steps[i]);
		last = fd > last ? fd : last;
	}
	return last;
}

/* Also the warden's own ends: their closing must show that it is gone. */
static int close_others(const struct holder_start *start)
{
	int last = last_needed(start);

	for (int fd = 0; fd <= last; fd++) {
		if (!is_needed(start, fd)) {
			close(fd);
		}
	}
	return sys_close_range((unsigned)last + 1, ~0u, 0);
}

/* --- the set-up ------------------------------------------------------------------------------- */

static bool wait_for_go(int control)
{
	char go = 0;
	ssize_t n;

	do {
		n = recv(control, &go, 1, 0);
	} while (n < 0 && errno == EINTR);
	return n == 1;
}

static int take_identity(const struct holder_start *start)
{
	umask(0);
	if (syscall(SYS_setresgid, 0, 0, 0) < 0) {
		return -errno;
	}
	/* Where setgroups is denied (an ordinary user's map), no group can be gained anyway. */
	if (start->spec->ranged && syscall(SYS_setgroups, 0, NULL) < 0) {
		return -errno;
	}
	if (syscall(SYS_setresuid, 0, 0, 0) < 0) {
		return -errno;
	}
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : 0;
}

/* Late, so that the cell pays for the tool and the program only. */
static int join_group(struct holder_start *start)
{
	for (int i = 0; i < start->join_count; i++) {
		if (start->join_directories) {
			int tasks =
				openat(start->join[i], "tasks", O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
			if (tasks < 0) {
				return -errno;
			}
			close(start->join[i]);
			start->join[i] = tasks;
		}
		if (write(start->join[i], "0", 1) != 1) {
			return -errno;
		}
		close_fd(&start->join[i]);
	}
	return 0;
}

const char *const holder_namespaces[HOLDER_NAMESPACES] = { "user", "pid", "mnt",    "net",
							   "ipc",  "uts", "cgroup", "time" };

static int identify(struct holder_identity *ret)
{
	_cleanup_close_ int own = open("/proc/self/ns", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat info;

	if (own < 0) {
		return -errno;
	}
	for (size_t i = 0; i < HOLDER_NAMESPACES; i++) {
		bool found = fstatat(own, holder_namespaces[i], &info, 0) == 0;
		ret->namespaces[i] = found ? info.st_ino : 0;
	}
	if (stat("/" HOLDER_ROOT, &info) < 0) {
		return -errno;
	}
	ret->device = info.st_dev;
	ret->root = info.st_ino;
	if (stat("/" HOLDER_ROOT "/" HOLDER_AGENT, &info) < 0) {
		return -errno;
	}
	ret->agent = info.st_ino;
	return 0;
}

static int send_handles(const struct holder_start *start)
{
	struct holder_message message = { .kind = HOLDER_HANDLES };
	_cleanup_close_ int sandbox =
		open("/" HOLDER_WORK "/sandbox", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const int fds[HOLDER_FDS] = { sandbox, proc };
	struct statfs fs;

	if (sandbox < 0 || proc < 0 || fstatfs(sandbox, &fs) < 0) {
		return -errno;
	}
	int r = identify(&message.identity);
	if (r < 0) {
		return r;
	}
	message.blocks = (uint32_t)(fs.f_blocks - fs.f_bfree);
	message.inodes = (uint32_t)(fs.f_files - fs.f_ffree);
	send_message(start, &message, fds, HOLDER_FDS);
	return 0;
}

/* From descriptor 3 on, the log after them; none of them is in the way of another. */
static int give_files(const struct holder_start *start)
{
	int high[HOLDER_FILES_MAX + 1];
	size_t count = start->files.count + (start->files.count > 0);

	for (size_t i = 0; i < count; i++) {
		int from = i < start->files.count ? start->files.fds[i] : start->log;
		high[i] = fcntl(from, F_DUPFD_CLOEXEC, 4 + HOLDER_FILES_MAX);
	}
	for (size_t i = 0; i < count; i++) {
		if (high[i] < 0 || dup2(high[i], 3 + (int)i) < 0) {
			return -errno;
		}
	}
	return sys_close_range(3 + (unsigned)count, ~0u, CLOSE_RANGE_CLOEXEC);
}

static _Noreturn void become_tool(const struct holder_start *start)
{
	static char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
	static char home[] = "HOME=/", state[] = "XDG_RUNTIME_DIR=/" HOLDER_STATE;
	char *const envp[] = { path, home, state, NULL };
	sigset_t none;

	sigemptyset(&none);
	if (dup2(start->stream, 0) == 0 &&
	    dup2(start->alone ? start->log : start->stream, 1) == 1 && dup2(start->log, 2) == 2 &&
	    give_files(start) == 0 && sigprocmask(SIG_SETMASK, &none, NULL) == 0 &&
	    (!start->confined || holder_confine() == 0)) {
		execve(start->tool, start->arguments, envp);
	}
	_exit(127);
}

/* --- the wait --------------------------------------------------------------------------------- */

/* Reports the tool's end. False: no process is left. */
static bool reap(const struct holder_start *start, pid_t tool)
{
	for (;;) {
		int status = 0;
		pid_t pid = waitpid(-1, &status, WNOHANG | __WALL);
		if (pid < 0 && errno == EINTR) {
			continue;
		}
		if (pid <= 0) {
			return pid == 0;
		}
		if (pid == tool) {
			struct holder_message message = { .kind = HOLDER_TOOL,
							  .value = (uint32_t)status };
			send_message(start, &message, NULL, 0);
			if (status != 0 || start->stays) {
				_exit(status == 0 ? 0 : 125);
			}
		}
	}
}

/* The agent is a child of the tool at first, and then of ours: its end is the cell's. */
static void on_request(const struct holder_start *start)
{
	struct holder_message message = { .kind = HOLDER_ENTERED };
	enum holder_step step = HOLDER_STEP_PROC;
	int32_t agent = 0;
	ssize_t n = recv(start->control, &agent, sizeof(agent), MSG_DONTWAIT);

	if (n != sizeof(agent) || agent <= 1) {
		_exit(125); /* the warden is gone, or ends the cell */
	}
	message.errnum = -holder_enter(start, agent, &step);
	message.value = step;
	if (start->spec->gate >= 0) {
		close(start->spec->gate); /* the gate has its listeners */
	}
	send_message(start, &message, NULL, 0);
}

static _Noreturn void wait_for_end(const struct holder_start *start, pid_t tool)
{
	sigset_t children;

	sigemptyset(&children);
	sigaddset(&children, SIGCHLD); /* blocked since before the clone */
	struct pollfd ready[2] = {
		{ .fd = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK), .events = POLLIN },
		{ .fd = start->control, .events = POLLIN },
	};
	if (ready[0].fd < 0) {
		fail(start, HOLDER_STEP_PROCESS, errno);
	}
	while (reap(start, tool)) {
		struct signalfd_siginfo drain;
		if (poll(ready, 2, -1) < 0 && errno != EINTR) {
			_exit(125);
		}
		while (read(ready[0].fd, &drain, sizeof(drain)) > 0) {
		}
		if (ready[1].revents) {
			on_request(start);
		}
	}
	_exit(0);
}

_Noreturn void holder_main(struct holder_start *start)
{
	enum holder_step step = HOLDER_STEP_PROCESS;
	int r = process_reset_signals();

	r = r < 0 ? r : lift_fd(&start->control);
	r = r < 0 ? r : lift_fd(&start->stream);
	r = r < 0 ? r : lift_fd(&start->log);
	r = r < 0 ? r : close_others(start);
	if (r < 0) {
		fail(start, step, -r);
	}
	if (!wait_for_go(start->control)) {
		_exit(125);
	}
	step = HOLDER_STEP_IDENTITY;
	r = take_identity(start);
	if (r == 0 && (start->spec->layers & LAYER_BIT(LAYER_KEYRING))) {
		step = HOLDER_STEP_KEYRING;
		r = sys_keyctl_join_session();
	}
	r = r < 0 ? r : holder_root(start, &step);
	r = r < 0 ? r : holder_confined_files(start);
	if (r >= 0) {
		step = HOLDER_STEP_CGROUP;
		r = join_group(start);
	}
	if (r >= 0) {
		step = HOLDER_STEP_WORK;
		r = send_handles(start);
	}
	/* An emulated kernel has clocks of its own. */
	if (r >= 0 && !start->emulated && (start->spec->layers & LAYER_BIT(LAYER_TIMENS))) {
		step = HOLDER_STEP_TIME;
		r = clocks_begin(); /* of our children */
	}
	if (r < 0) {
		fail(start, step, -r);
	}
	pid_t tool = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	if (tool < 0) {
		fail(start, HOLDER_STEP_TOOL, errno);
	}
	if (tool == 0) {
		become_tool(start);
	}
	/* Only the agent has them from here on: they end with it. */
	close_fd(&start->stream);
	close_fd(&start->log);
	wait_for_end(start, tool);
}
