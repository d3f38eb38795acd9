/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Id-mapped mounts (mount_setattr(2), since Linux 5.12): see idmount.h. The map is that of a user
 * namespace made for the purpose.
 */
#include "kernel/idmount.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/sys.h"

static int write_map(pid_t pid, const char *file, unsigned from, unsigned to, unsigned maker)
{
	char path[64], text[96];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	int length = snprintf(text, sizeof(text), "%u %u 1\n", from, to);
	if (maker) {
		snprintf(text + length, sizeof(text) - (size_t)length, "%u %u 1\n", maker, maker);
	}
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0) {
		return -errno;
	}
	return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

/* Waits until the other end closes, however its owner ended: the helper never outlives it. */
static _Noreturn void wait_for_end(const int ends[2])
{
	char none;

	close(ends[1]);
	while (read(ends[0], &none, 1) < 0 && errno == EINTR) {
	}
	_exit(0);
}

static int open_map(pid_t pid, const struct stat *owner, const struct idmount_ids *ids)
{
	char path[64];
	int r = write_map(pid, "uid_map", owner->st_uid, ids->user, ids->maker);

	if (r < 0) {
		return r;
	}
	r = write_map(pid, "gid_map", owner->st_gid, ids->group, ids->maker);
	if (r < 0) {
		return r;
	}
	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
	r = open(path, O_RDONLY | O_CLOEXEC);
	return r < 0 ? -errno : r;
}

/* A namespace needs a process until there is a descriptor of it. */
static int map_namespace(const struct stat *owner, const struct idmount_ids *ids)
{
	int ends[2];
	siginfo_t info;
	sigset_t all, before;

	if (pipe2(ends, O_CLOEXEC) < 0) {
		return -errno;
	}
	/*
	 * Handlers of the host program must not run in the child, and it must get no SIGCHLD for
	 * it.
	 */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	int pid = sys_result(syscall(SYS_clone, CLONE_NEWUSER, NULL, NULL, NULL, NULL));
	if (pid == 0) {
		wait_for_end(ends);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	int r = pid < 0 ? pid : open_map(pid, owner, ids);
	close(ends[0]);
	close(ends[1]);
	while (pid > 0 && syscall(SYS_waitid, P_PID, pid, &info, WEXITED | __WALL, NULL) < 0 &&
	       errno == EINTR) {
	}
	return r;
}

int idmount_clone(int directory, const struct idmount_ids *ids)
{
	struct stat owner;

	if (fstat(directory, &owner) < 0) {
		return -errno;
	}
	_cleanup_close_ int map = map_namespace(&owner, ids);
	if (map < 0) {
		return map;
	}
	_cleanup_close_ int tree =
		sys_open_tree(directory, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	if (tree < 0) {
		return tree;
	}
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)map };
	int r = sys_mount_setattr(tree, "", AT_EMPTY_PATH, &attr);
	return r < 0 ? r : TAKE_FD(tree);
}
