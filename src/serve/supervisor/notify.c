/* SPDX-License-Identifier: Apache-2.0 */
/* Notifies the service manager: see notify.h. */
#include "serve/supervisor/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"

void notify_send(const char *text)
{
	const char *path = secure_getenv("NOTIFY_SOCKET");
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (!path || (path[0] != '/' && path[0] != '@') ||
	    strlen(path) >= sizeof(address.sun_path)) {
		return;
	}
	memcpy(address.sun_path, path, strlen(path));
	if (path[0] == '@') { /* an abstract address */
		address.sun_path[0] = '\0';
	}
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0) {
		socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
		(void)sendto(fd, text, strlen(text), MSG_NOSIGNAL, (struct sockaddr *)&address,
			     size);
	}
}

uint64_t notify_watchdog_ns(void)
{
	const char *usec = secure_getenv("WATCHDOG_USEC");
	const char *pid = secure_getenv("WATCHDOG_PID");
	uint64_t value, whose;

	if (!usec || unit_parse(UNIT_COUNT, usec, &value) < 0 || value > UINT64_C(86400000000)) {
		return 0;
	}
	if (pid && (unit_parse(UNIT_COUNT, pid, &whose) < 0 || whose != (uint64_t)getpid())) {
		return 0;
	}
	return value * 1000;
}
