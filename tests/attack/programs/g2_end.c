/* SPDX-License-Identifier: Apache-2.0 */
/* G2: ends in one of several ways. usage: g2_end WAY [NUMBER] */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "say.h"

static int number;

static void *live_on(void *unused)
{
	(void)unused;
	usleep(200000);
	say("thread", "lives");
	_exit(number);
}

static void *end_alone(void *unused)
{
	(void)unused;
	usleep(50000);
	syscall(SYS_exit, 99); /* this thread only */
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc < 2) {
		return 99;
	}
	number = argc > 2 ? atoi(argv[2]) : 0;
	switch (argv[1][0]) {
	case 'e': /* exit */
		exit(number);
	case 's': /* signal */
		signal(number, SIG_DFL);
		kill(getpid(), number);
		pause();
		return 98;
	case 'l': /* the leader ends first: a zombie while its thread lives */
		pthread_create(&thread, NULL, live_on, NULL);
		pthread_exit(NULL);
	case 't': /* another thread ends with a status of its own, which does not count */
		pthread_create(&thread, NULL, end_alone, NULL);
		usleep(100000);
		_exit(number);
	case 'm': /* more bits than a status has */
		syscall(SYS_exit_group, number | 0x7f00);
		return 98;
	default: /* a child's end is not ours */
		if (fork() == 0) {
			raise(SIGKILL);
		}
		usleep(50000);
		return number;
	}
}
