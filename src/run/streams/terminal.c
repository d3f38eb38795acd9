/* SPDX-License-Identifier: Apache-2.0 */
/* Pseudo terminals: see terminal.h. */
#include "run/streams/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/sys.h"

int terminal_open(const struct terminal_size *size, int *ret_ours, int *ret_theirs)
{
	_cleanup_close_ int ours = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);
	int unlocked = 0;

	if (ours < 0 || ioctl(ours, TIOCSPTLCK, &unlocked) < 0) {
		return -errno;
	}
	/* By descriptor (since Linux 4.13): a name in /dev/pts may belong to another instance. */
	_cleanup_close_ int theirs = ioctl(ours, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	/* Most hosts let the group `tty` write to each other's terminals. */
	if (theirs < 0 || fchmod(theirs, 0600) < 0) {
		return -errno;
	}
	int r = terminal_resize(ours, size);
	if (r < 0) {
		return r;
	}
	*ret_ours = TAKE_FD(ours);
	*ret_theirs = TAKE_FD(theirs);
	return 0;
}

int terminal_resize(int ours, const struct terminal_size *size)
{
	struct winsize window = { .ws_row = size->rows, .ws_col = size->columns };

	return ioctl(ours, TIOCSWINSZ, &window) < 0 ? -errno : 0;
}

/* Opened by its number, and then compared: /dev/pts may belong to another instance. */
static int open_locked(int tree, const struct stat *known)
{
	char name[16];
	struct stat found;

	snprintf(name, sizeof(name), "%u", minor(known->st_rdev));
	_cleanup_close_ int fd = openat(tree, name, O_RDWR | O_NOCTTY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &found) < 0) {
		return -errno;
	}
	return found.st_dev == known->st_dev && found.st_ino == known->st_ino ? TAKE_FD(fd)
									      : -ESTALE;
}

int terminal_lock(int fds[3])
{
	struct mount_attr locked = { .attr_set = MOUNT_ATTR_RDONLY };
	struct stat known;
	_cleanup_close_ int tree =
		sys_open_tree(AT_FDCWD, "/dev/pts", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	if (tree < 0) {
		return tree;
	}
	int r = sys_mount_setattr(tree, "", AT_EMPTY_PATH, &locked);
	if (r < 0) {
		return r;
	}
	if (fstat(fds[0], &known) < 0) {
		return -errno;
	}
	_cleanup_close_ int fd = open_locked(tree, &known);
	if (fd < 0) {
		return fd;
	}
	for (int i = 0; i < 3; i++) {
		if (dup3(fd, fds[i], O_CLOEXEC) < 0) {
			return -errno;
		}
	}
	return 0;
}

int terminal_take(void)
{
	return ioctl(STDIN_FILENO, TIOCSCTTY, 0) < 0 ? -errno : 0;
}
