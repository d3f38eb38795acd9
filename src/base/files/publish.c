/* SPDX-License-Identifier: Apache-2.0 */
/* Publishes complete files: see publish.h. */
#include "base/files/publish.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/write_all.h"

int publish_file(int dir, const char *name, const void *data, size_t size)
{
	char path[32];
	_cleanup_close_ int fd = openat(dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);

	if (fd < 0) {
		return -errno;
	}
	int r = write_all(fd, data, size);
	if (r < 0) {
		return r;
	}
	/* Through /proc: a link from the fd itself needs a privilege. */
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return linkat(AT_FDCWD, path, dir, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}
