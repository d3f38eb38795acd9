/* SPDX-License-Identifier: Apache-2.0 */
/* Directories without links: see nolinks.h. */
#include "kernel/nolinks.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/sys.h"

/* One component at a time, when there is no openat2: no link is followed anywhere. */
static int open_by_parts(const char *path)
{
	char part[NAME_MAX + 1];
	int dir = open(path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	while (dir >= 0 && *path) {
		size_t length = strcspn(path, "/");
		if (length > NAME_MAX) {
			close(dir);
			return -ENAMETOOLONG;
		}
		if (length > 0) {
			memcpy(part, path, length);
			part[length] = '\0';
			int next = openat(dir, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			int saved = errno;
			close(dir);
			errno = saved;
			dir = next;
		}
		path += length;
		path += *path == '/';
	}
	return dir < 0 ? -errno : dir;
}

int open_without_links(const char *path)
{
	struct open_how how = { .flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
				.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	int fd = sys_openat2(AT_FDCWD, path, &how);

	return fd == -ENOSYS ? open_by_parts(path) : fd;
}

int reopen_without_links(int known, const char *path)
{
	struct stat before, now;
	_cleanup_close_ int fd = open_without_links(path);

	if (fd < 0) {
		return fd;
	}
	if (fstat(known, &before) < 0 || fstat(fd, &now) < 0) {
		return -errno;
	}
	if (before.st_dev != now.st_dev || before.st_ino != now.st_ino) {
		return -ESTALE;
	}
	return TAKE_FD(fd);
}
