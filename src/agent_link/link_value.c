/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The value of a program: its agent has the memory file, and sends what is in it at the end. Here
 * it is put into a file of the same kind, so that nothing else differs. The seals are those that
 * the driver has set, by the agent's word.
 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "agent_link/agent_link.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

int value_take(const struct agent_link *link, struct run *run, size_t size)
{
	const unsigned char *data = link->in + FRAME_HEAD_BYTES;
	int seals = (int)(frame_get_u32(data) & (F_SEAL_SEAL | F_SEAL_WRITE | F_SEAL_FUTURE_WRITE));

	if (size - 4 > RUN_FILE_BYTES || run->value < 0) {
		return -EPROTO;
	}
	ssize_t n = pwrite(run->value, data + 4, size - 4, 0);
	if (n < 0 || (size_t)n != size - 4) {
		return n < 0 ? -errno : -EIO;
	}
	if (link->value == VALUE_GUARDED && fcntl(run->value, F_ADD_SEALS, seals) < 0) {
		return -errno;
	}
	return 0;
}
