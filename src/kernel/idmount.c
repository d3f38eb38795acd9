/* Id-mapped mounts: see idmount.h. The map is that of a user namespace made for the purpose. */
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

static int write_map(pid_t pid, const char *file, unsigned from, unsigned to)
{
	char path[64], text[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	snprintf(text, sizeof(text), "%u %u 1\n", from, to);
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0) {
		return -errno;
	}
	return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

/* A namespace needs a process for as long as it takes to get a handle on it. */
static int map_namespace(const struct stat *owner, uid_t id, gid_t gid)
{
	char path[64];
	int pidfd = -1;
	struct clone_args args = { .flags = CLONE_NEWUSER | CLONE_PIDFD,
				   .pidfd = (uintptr_t)&pidfd };
	int pid = sys_clone3(&args, sizeof(args));

	if (pid == 0) {
		for (;;) {
			pause();
		}
	}
	if (pid < 0) {
		return pid;
	}
	int r = write_map(pid, "uid_map", owner->st_uid, id);
	if (r == 0) {
		r = write_map(pid, "gid_map", owner->st_gid, gid);
	}
	if (r == 0) {
		snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
		r = open(path, O_RDONLY | O_CLOEXEC);
		r = r < 0 ? -errno : r;
	}
	sys_pidfd_send_signal(pidfd, SIGKILL);
	siginfo_t info;
	syscall(SYS_waitid, P_PIDFD, pidfd, &info, WEXITED | __WALL, NULL);
	close(pidfd);
	return r;
}

int idmount_clone(int directory, uid_t id, gid_t gid)
{
	struct stat owner;

	if (fstat(directory, &owner) < 0) {
		return -errno;
	}
	_cleanup_close_ int map = map_namespace(&owner, id, gid);
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
