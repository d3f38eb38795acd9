/* SPDX-License-Identifier: Apache-2.0 */
/* F5: which descriptors are open at the start. */
#include <fcntl.h>

#include "say.h"

int main(void)
{
	char list[1024] = "";
	int at = 0;

	for (int fd = 3; fd < 65536; fd++) {
		if ((fcntl(fd, F_GETFD) >= 0 || errno != EBADF) && at < 1000) {
			at += snprintf(list + at, sizeof(list) - (size_t)at, "%s%d", at ? " " : "",
				       fd);
		}
	}
	say("open", "%s", list);
}
