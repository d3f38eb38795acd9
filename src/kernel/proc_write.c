/* SPDX-License-Identifier: Apache-2.0 */
/* A process's own files: see proc_write.h. */
#include "kernel/proc_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

int proc_write(pid_t pid, const char *file, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0) {
		return -errno;
	}
	return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}
