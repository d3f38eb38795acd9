/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Id ranges: see idrange.h. The kernel is the registry: a slot is an abstract socket address
 * (unix(7)) that only one process on this host can be bound to, so that there is no file to go
 * stale. A slot that another process has bound is skipped; ids come from a range that no
 * distribution uses (above systemd's container range, below 2^31).
 */
#include "kernel/idrange.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/cleanup.h"

#define IDS_PER_CELL 2u /* brig-init's, the program's */
#define SLOTS        (IDRANGE_COUNT / IDS_PER_CELL)
#define TRIES        64

int idrange_take(uint32_t *first_id, struct brig_error *err)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0) {
		return error_errno(err, BRIG_E_SYSTEM, errno, "cannot reserve ids for the cell");
	}
	for (int i = 0; i < TRIES; i++) {
		struct sockaddr_un address = { .sun_family = AF_UNIX };
		uint32_t slot;
		if (getrandom(&slot, sizeof(slot), 0) != sizeof(slot)) {
			return error_errno(err, BRIG_E_SYSTEM, errno, "no random bytes");
		}
		slot %= SLOTS;
		int n = snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1, "brig-ids-%u",
				 slot);
		socklen_t size =
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
		if (bind(fd, (struct sockaddr *)&address, size) == 0) {
			*first_id = IDRANGE_FIRST + slot * IDS_PER_CELL;
			return TAKE_FD(fd);
		}
		if (errno != EADDRINUSE) {
			return error_errno(err, BRIG_E_SYSTEM, errno,
					   "cannot reserve ids for the cell");
		}
	}
	return error_set(err, BRIG_E_SYSTEM, EAGAIN, "no free ids for another cell");
}
