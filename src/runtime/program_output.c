/* SPDX-License-Identifier: Apache-2.0 */
/* Starts a program and reads its output, with a timeout. */
#include "runtime/program_output.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define STACK_SIZE 32768

struct program_child {
	const char *program;
	char *const *argv;
	int output;
};

/* Executes the program; signals are blocked, and the host's handlers still in place. */
static void become(const struct program_child *child, pid_t parent)
{
	static const char *const no_env[] = { NULL };
	struct sigaction ordinary = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (int signal = 1; signal < 65; signal++) {
		sigaction(signal, &ordinary, NULL);
	}
	sigemptyset(&none);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0 && getppid() == parent &&
	    sigprocmask(SIG_SETMASK, &none, NULL) == 0) {
		execve(child->program, child->argv, (char *const *)(uintptr_t)no_env);
	}
	/* Not _exit(): a sanitizer would first print into the output. */
	for (;;) {
		syscall(SYS_exit_group, 127);
	}
}

/*
 * In a copy of the host's memory: only calls that are safe after a fork. exec restores a process's
 * SIGCHLD, and the host must never receive one of ours; so the host's child does not exec, but
 * waits for a child of its own, which dies with it.
 */
static int child_main(void *data)
{
	const struct program_child *child = data;
	pid_t self = getpid();
	siginfo_t info;
	/* Not close-on-exec: if the host had closed 0, this one must stay open. */
	int null_fd = open("/dev/null", O_RDONLY);

	if (null_fd < 0 || dup2(null_fd, 0) < 0 || dup2(child->output, 1) < 0 ||
	    dup2(child->output, 2) < 0 || chdir("/") < 0 ||
	    syscall(SYS_close_range, 3, ~0u, 0) < 0) {
		return 127;
	}
	long pid = syscall(SYS_clone, CLONE_VFORK | SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid == 0) {
		become(child, self);
	}
	while (pid > 0 && waitid(P_PID, (id_t)pid, &info, WEXITED) < 0 && errno == EINTR) {
	}
	return 0;
}

/* Until end of file, the limit, or the deadline. */
static int collect(int fd, uint64_t deadline_ns, struct buf *ret)
{
	char chunk[1024];

	for (;;) {
		uint64_t now = clock_now_ns();
		struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
		ssize_t n;
		int r;

		if (now >= deadline_ns) {
			return -ETIMEDOUT;
		}
		r = poll(&poll_fd, 1, (int)((deadline_ns - now) / 1000000u) + 1);
		if (r < 0 && errno != EINTR) {
			return -errno;
		}
		if (r <= 0) {
			continue;
		}
		n = read(fd, chunk, sizeof(chunk));
		if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
			continue;
		}
		if (n <= 0) {
			return n < 0 ? -errno : 0;
		}
		if (ret->size + (size_t)n > PROGRAM_OUTPUT_MAX) {
			n = (ssize_t)(PROGRAM_OUTPUT_MAX - ret->size);
		}
		buf_add(ret, chunk, (size_t)n);
		if (ret->size >= PROGRAM_OUTPUT_MAX) {
			return 0;
		}
	}
}

int program_output_read(const char *program, char *const argv[], int timeout_ms, struct buf *ret)
{
	uint64_t deadline_ns = clock_now_ns() + (uint64_t)timeout_ms * 1000000u;
	_cleanup_close_ int read_fd = -1;
	_cleanup_close_ int write_fd = -1;
	_cleanup_close_ int pid_fd = -1;
	_Alignas(16) char stack[STACK_SIZE];
	struct program_child child = { .program = program, .argv = argv };
	sigset_t all, before;
	siginfo_t info;
	int fds[2];
	int r;

	if (pipe2(fds, O_CLOEXEC) < 0) {
		return -errno;
	}
	read_fd = fds[0];
	/* Above 0 to 2, which a host may have closed and the child is about to fill. */
	write_fd = fcntl(fds[1], F_DUPFD_CLOEXEC, 3);
	(void)close(fds[1]);
	if (write_fd < 0) {
		return -errno;
	}
	child.output = write_fd;
	/* A handler of the host program must not run in the child, where its state is invalid. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	/* No SIGCHLD among the flags: a host that waits for its own children must not get ours. */
	r = clone(child_main, stack + sizeof(stack), CLONE_PIDFD, &child, &pid_fd) < 0 ? -errno : 0;
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (r < 0) {
		return r;
	}
	close_fd(&write_fd);
	r = collect(read_fd, deadline_ns, ret);
	/* Its further output is not needed. */
	(void)syscall(SYS_pidfd_send_signal, pid_fd, SIGKILL, NULL, 0);
	while (waitid(P_PIDFD, (id_t)pid_fd, &info, WEXITED | __WALL) < 0 && errno == EINTR) {
	}
	return r < 0 ? r : (ret->failed ? -ENOMEM : 0);
}
