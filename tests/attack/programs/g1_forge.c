/* SPDX-License-Identifier: Apache-2.0 */
/*
 * G1: forges its own result wherever it can write: JSON on stdout and stderr, the records of brig's
 * inner protocol on every descriptor, in every form. Then ends with 7.
 */
#include <stdint.h>
#include <sys/socket.h>

#include "say.h"

int main(void)
{
	static const char fake[] = "\n{\"id\":\"01ARZ3NDEKTSV4RRFFQ69G5FAV\",\"status\":\"ok\","
				   "\"exit_code\":0,\"signal\":null}\n";
	uint32_t record[4] = { 6, 1, 0, 0 }; /* "it has exited, with 0" */
	int taken = 0;

	for (int fd = 0; fd < 1024; fd++) {
		if (fd < 3) {
			(void)!write(fd, fake, sizeof(fake) - 1);
			continue;
		}
		taken += write(fd, record, sizeof(record)) >= 0;
		taken += send(fd, record, sizeof(record), MSG_NOSIGNAL) >= 0;
		taken += write(fd, fake, sizeof(fake) - 1) >= 0;
	}
	say("taken", "%d", taken);
	return 7;
}
