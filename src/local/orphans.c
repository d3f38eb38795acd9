/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Local runs have no pid namespace. Their supervisor is the subreaper: its descendants stay beneath
 * it, even after double forks and setsid, so killing its children until there are none kills all of
 * them.
 */
#include "local/orphans.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

#define ROUNDS 2000 /* of a millisecond each */

static void kill_children(void)
{
	char text[4096];
	_cleanup_close_ int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text));
	pid_t pid = 0;

	for (ssize_t i = 0; i < n; i++) {
		if (text[i] >= '0' && text[i] <= '9') {
			pid = pid * 10 + (text[i] - '0');
		} else if (pid > 1) {
			kill(pid, SIGKILL);
			pid = 0;
		}
	}
}

void orphans_kill(void)
{
	struct timespec pause = { .tv_nsec = 1000000 };

	for (int round = 0; round < ROUNDS; round++) {
		kill_children();
		for (;;) {
			pid_t pid = waitpid(-1, NULL, WNOHANG);
			if (pid < 0 && errno == ECHILD) {
				return;
			}
			if (pid <= 0) {
				break;
			}
		}
		nanosleep(&pause, NULL);
	}
}
