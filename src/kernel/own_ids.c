/* SPDX-License-Identifier: Apache-2.0 */
/* The map of a namespace for cells: see own_ids.h. */
#include "kernel/own_ids.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/idrange.h"

int own_ids_map(int proc, uid_t id)
{
	static const char *const maps[] = { "uid_map", "gid_map" };
	char text[96];
	int size = snprintf(text, sizeof(text), "0 %u 1\n%u %u %u\n", (unsigned)id, IDRANGE_FIRST,
			    IDRANGE_FIRST, IDRANGE_COUNT);

	for (size_t i = 0; i < ARRAY_SIZE(maps); i++) {
		_cleanup_close_ int fd = openat(proc, maps[i], O_WRONLY | O_CLOEXEC);
		if (fd < 0 || write(fd, text, (size_t)size) != size) {
			return errno ? -errno : -EIO;
		}
	}
	return 0;
}
