/* SPDX-License-Identifier: Apache-2.0 */
/* New processes: see process.h. */
#include "kernel/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/sys.h"

static int join_by_pid(int cgroup, int pid)
{
	char text[16];
	_cleanup_close_ int fd = openat(cgroup, "cgroup.procs", O_WRONLY | O_CLOEXEC);

	if (fd < 0) {
		return -errno;
	}
	int n = snprintf(text, sizeof(text), "%d", pid);
	return write(fd, text, (size_t)n) < 0 ? -errno : 0;
}

int process_clone(uint64_t flags, int cgroup, int *pidfd)
{
	struct clone_args args = {
		.flags = flags | CLONE_PIDFD | (cgroup >= 0 ? CLONE_INTO_CGROUP : 0),
		.pidfd = (uintptr_t)pidfd,
		.exit_signal = 0, /* a host program's SIGCHLD and wait(-1) never see us */
		.cgroup = cgroup >= 0 ? (unsigned)cgroup : 0,
	};
	int pid = sys_clone3(&args, sizeof(args));

	if (pid != -ENOSYS) {
		return pid;
	}
	pid = sys_result(syscall(SYS_clone, flags | CLONE_PIDFD, NULL, pidfd, NULL, NULL));
	if (pid > 0 && cgroup >= 0) {
		/* It waits for its release, outside of the group still: the slow way in, then. */
		int r = join_by_pid(cgroup, pid);
		if (r < 0) {
			sys_pidfd_send_signal(*pidfd, SIGKILL);
			siginfo_t info;
			syscall(SYS_waitid, P_PIDFD, *pidfd, &info, WEXITED | __WALL, NULL);
			close(*pidfd);
			return r;
		}
	}
	return pid;
}

int process_reset_signals(void)
{
	const struct {
		void *handler;
		unsigned long flags;
		void *restorer;
		uint64_t mask;
	} ordinary = { .handler = NULL }; /* as the kernel knows it: SIG_DFL */

	for (int signal = 1; signal < 65; signal++) {
		if (signal == SIGKILL || signal == SIGSTOP) {
			continue;
		}
		/* Not sigaction(): it keeps off 32 and 33, which posix_spawn() leaves ignored. */
		if (syscall(SYS_rt_sigaction, signal, &ordinary, NULL, sizeof(ordinary.mask)) < 0) {
			return -errno;
		}
	}
	return 0;
}

uint64_t process_children_cpu_ns(void)
{
	struct rusage used;

	if (getrusage(RUSAGE_CHILDREN, &used) < 0) {
		return 0;
	}
	return (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000u +
	       (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000u;
}
