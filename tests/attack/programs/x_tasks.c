/* SPDX-License-Identifier: Apache-2.0 */
/*
 * X1 X2 X3: requests many tasks, in one of several ways. usage: x_tasks WAY COUNT
 *
 * made= is the number that it got, refused= the errno of the first refusal. It continues to request
 * tasks for a while, as a bomb would. All of them live until the first process ends, and no longer.
 */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "say.h"

#define STUBBORN    600    /* number of further attempts */
#define PATIENCE_US 150000 /* long enough for a periodic watch */

static int life[2]; /* the first process holds the writing end: its death ends the others */
static int *made;   /* shared by all */

static _Noreturn void linger(void)
{
	char byte;

	close(life[1]);
	while (read(life[0], &byte, 1) < 0) {
	}
	_exit(0);
}

static int by_fork(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		linger();
	}
	return pid < 0 ? -1 : 0;
}

static int by_clone(void)
{
	long pid = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);

	if (pid == 0) {
		linger();
	}
	return pid < 0 ? -1 : 0;
}

/* Grandchildren in sessions of their own; the child between them ends at once. */
static int by_double(void)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		setsid();
		pid_t next = fork();
		if (next == 0) {
			setsid();
			linger();
		}
		_exit(next < 0 ? 1 : 0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0) {
		return -1;
	}
	errno = EAGAIN;
	return WEXITSTATUS(status) ? -1 : 0;
}

static void *thread_main(void *unused)
{
	char byte;

	(void)unused;
	while (read(life[0], &byte, 1) < 0) {
	}
	return NULL;
}

static int by_thread(void)
{
	pthread_t thread;
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 * 1024);
	errno = pthread_create(&thread, &attr, thread_main, NULL);
	pthread_attr_destroy(&attr);
	return errno ? -1 : 0;
}

/* Each waits in vfork for the next: a chain, since vfork stops its caller. */
static void vfork_chain(int left)
{
	volatile pid_t pid = left > 0 ? vfork() : -1;

	if (pid == 0) {
		++*made;
		vfork_chain(left - 1);
		_exit(0);
	}
	if (pid < 0 && left > 0) {
		say("refused", "%s", outcome(-1));
		for (int i = 0; i < STUBBORN; i++) {
			if (syscall(SYS_vfork) == 0) {
				_exit(0);
			}
		}
		usleep(PATIENCE_US);
	}
}

/* Every process makes more, for ever. */
static void explode(void)
{
	for (;;) {
		if (fork() == 0) {
			setsid();
		}
	}
}

static const struct {
	const char *name;
	int (*make)(void);
} ways[] = {
	{ "fork", by_fork },
	{ "clone", by_clone },
	{ "double", by_double },
	{ "thread", by_thread },
};

int main(int argc, char **argv)
{
	int count = argc > 2 ? atoi(argv[2]) : 0;
	int refused = 0;

	made = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (argc < 3 || made == MAP_FAILED || pipe(life) < 0) {
		return 99;
	}
	if (strcmp(argv[1], "explode") == 0) {
		explode();
	}
	if (strcmp(argv[1], "vfork") == 0) {
		vfork_chain(count);
		say("made", "%d", *made);
		return *made < count;
	}
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(argv[1], ways[i].name) != 0) {
			continue;
		}
		while (*made < count && refused < STUBBORN) {
			if (ways[i].make() == 0) {
				++*made;
			} else if (refused++ == 0) {
				say("refused", "%s", outcome(-1));
				say("made", "%d", *made);
			}
		}
	}
	say("made", "%d", *made);
	usleep(PATIENCE_US);
	/* Threads must not be waited for: they wait for us. */
	_exit(refused > 0);
}
