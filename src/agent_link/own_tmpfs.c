/* SPDX-License-Identifier: Apache-2.0 */
/* A private tmpfs: see own_tmpfs.h. */
#include "agent_link/own_tmpfs.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/fdpass.h"
#include "kernel/proc_write.h"
#include "kernel/process.h"
#include "kernel/sys.h"
#include "kernel/tmpfs.h"

/* An agent returns no more than the limits allow; the root and rounding come on top. */
#define SPARE_BYTES  (1u << 20)
#define SPARE_INODES 16u

struct tmpfs_limits {
	char size[24], inodes[24];
};

/* --- the process: a clone of the host program, so only async-signal-safe calls ---------------- */

static int make(const struct tmpfs_limits *limits)
{
	char go;

	/* The maps are there. */
	if (recv(0, &go, 1, 0) != 1 || syscall(SYS_setresgid, 0, 0, 0) < 0 ||
	    syscall(SYS_setresuid, 0, 0, 0) < 0) {
		return -EIO;
	}
	int tree = tmpfs_new(limits->size, limits->inodes, "0700");
	if (tree < 0) {
		return tree;
	}
	int root = openat(tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return root < 0 ? -errno : root;
}

static _Noreturn void own_tmpfs_main(int socket, const struct tmpfs_limits *limits)
{
	int32_t errnum = EIO;
	struct iovec part = { .iov_base = &errnum, .iov_len = sizeof(errnum) };

	if (dup2(socket, 0) < 0 || sys_close_range(1, ~0u, 0) < 0) {
		_exit(125);
	}
	int root = make(limits);
	errnum = root < 0 ? -root : 0;
	fdpass_send(0, &part, 1, &root, root < 0 ? 0 : 1, MSG_NOSIGNAL);
	_exit(0);
}

/* --- the warden ------------------------------------------------------------------------------- */

static int map_self(pid_t pid)
{
	char users[48], groups[48];

	snprintf(users, sizeof(users), "0 %u 1\n", (unsigned)geteuid());
	snprintf(groups, sizeof(groups), "0 %u 1\n", (unsigned)getegid());
	int r = proc_write(pid, "setgroups", "deny");
	r = r < 0 ? r : proc_write(pid, "uid_map", users);
	return r < 0 ? r : proc_write(pid, "gid_map", groups);
}

static int start(struct own_tmpfs *tmpfs, int theirs, const struct tmpfs_limits *limits)
{
	sigset_t all, before;

	/* A handler of the host program must not run in the child. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	int pid = process_clone(CLONE_NEWUSER | CLONE_NEWNS, -1, &tmpfs->pidfd);
	if (pid == 0) {
		own_tmpfs_main(theirs, limits);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0) {
		tmpfs->pidfd = -1;
		return pid;
	}
	int r = map_self(pid);
	if (r < 0) {
		return r;
	}
	return send(tmpfs->socket, "g", 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 ? 0 : -errno;
}

int own_tmpfs_begin(struct own_tmpfs *tmpfs, uint64_t bytes, uint64_t inodes)
{
	struct tmpfs_limits limits;
	int ends[2];

	snprintf(limits.size, sizeof(limits.size), "%" PRIu64, bytes + SPARE_BYTES);
	snprintf(limits.inodes, sizeof(limits.inodes), "%" PRIu64, inodes + SPARE_INODES);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
		return -errno;
	}
	tmpfs->socket = ends[0];
	int r = start(tmpfs, ends[1], &limits);
	close(ends[1]);
	return r;
}

int own_tmpfs_take(struct own_tmpfs *tmpfs)
{
	int32_t errnum = 0;
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct iovec part = { .iov_base = &errnum, .iov_len = sizeof(errnum) };
	struct msghdr message = { .msg_iov = &part,
				  .msg_iovlen = 1,
				  .msg_control = control.bytes,
				  .msg_controllen = sizeof(control.bytes) };
	ssize_t n = recvmsg(tmpfs->socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0) {
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	}
	size_t count = fdpass_take(&message, &tmpfs->root, 1);
	if (n != sizeof(errnum) || count != 1) {
		return n == sizeof(errnum) && errnum > 0 ? -errnum : -EIO;
	}
	return 1;
}

void own_tmpfs_done(struct own_tmpfs *tmpfs)
{
	siginfo_t info;

	if (tmpfs->pidfd >= 0) {
		sys_pidfd_send_signal(tmpfs->pidfd, SIGKILL);
		syscall(SYS_waitid, P_PIDFD, tmpfs->pidfd, &info, WEXITED | __WALL, NULL);
	}
	close_fd(&tmpfs->pidfd);
	close_fd(&tmpfs->socket);
	close_fd(&tmpfs->root);
}
