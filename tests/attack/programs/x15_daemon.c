/* SPDX-License-Identifier: Apache-2.0 */
/*
 * X15 G3: leaves a daemon behind and ends. usage: x15_daemon FILE SECONDS
 *
 * The daemon writes to the file and to stdout every 10 ms, for SECONDS at most.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>

#include "say.h"

int main(int argc, char **argv)
{
	int seconds = argc > 2 ? atoi(argv[2]) : 0;

	if (argc < 3) {
		return 99;
	}
	if (fork() == 0) {
		setsid();
		if (fork() != 0) {
			_exit(0);
		}
		for (int i = 1; i < 65; i++) {
			signal(i, SIG_IGN);
		}
		int fd = open(argv[1], O_CREAT | O_WRONLY | O_APPEND, 0666);
		for (int i = 0; i < seconds * 100; i++) {
			if (write(fd, "alive\n", 6) != 6 || write(1, "late\n", 5) != 5) {
				_exit(1);
			}
			usleep(10000);
		}
		_exit(0);
	}
	say("main", "over");
	return 0;
}
