/* SPDX-License-Identifier: Apache-2.0 */
/* Writes until everything is written: see write_all.h. */
#include "base/files/write_all.h"

#include <errno.h>
#include <sys/types.h>
#include <unistd.h>

int write_all(int fd, const void *data, size_t size)
{
	const char *at = data;

	while (size) {
		ssize_t n = write(fd, at, size);
		if (n < 0 && errno != EINTR) {
			return -errno;
		}
		at += n > 0 ? n : 0;
		size -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}
