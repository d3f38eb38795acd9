/* SPDX-License-Identifier: Apache-2.0 */
/* X9: as many kernel objects of each kind as possible, up to a bound. usage: x9_objects BOUND */
#include <fcntl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "say.h"

static int timer(void)
{
	timer_t id;
	struct sigevent none = { .sigev_notify = SIGEV_NONE };

	return timer_create(CLOCK_MONOTONIC, &none, &id);
}

static int queued_signal(void)
{
	return sigqueue(getpid(), SIGRTMIN, (union sigval){ 0 });
}

static int inotify_instance(void)
{
	return inotify_init1(IN_CLOEXEC);
}

static int epoll_instance(void)
{
	return epoll_create1(EPOLL_CLOEXEC);
}

static int queue(void)
{
	static int serial;
	char name[32];

	snprintf(name, sizeof(name), "/brig-x9-%d-%d", getpid(), serial++);
	mqd_t id = mq_open(name, O_CREAT | O_RDWR, 0600, NULL);
	if (id >= 0 && getenv("TIDY")) {
		mq_unlink(name);
	}
	return id;
}

static int semaphores(void)
{
	int id = semget(IPC_PRIVATE, 32, IPC_CREAT | 0600);

	if (id >= 0 && getenv("TIDY")) {
		semctl(id, 0, IPC_RMID);
	}
	return id;
}

static int key(void)
{
	static int serial;
	char name[32];

	snprintf(name, sizeof(name), "brig-x9-%d", serial++);
	/* into this thread's own keyring, which is removed with it */
	return (int)syscall(SYS_add_key, "user", name, "x", 1, -1);
}

static const struct {
	const char *name;
	int (*make)(void);
	int most; /* outside of a cell, so that the control is harmless */
} kinds[] = {
	{ "timers", timer, 1 << 20 },
	{ "signals", queued_signal, 1 << 20 },
	{ "inotify", inotify_instance, 512 },
	{ "epoll", epoll_instance, 512 },
	{ "queues", queue, 8 },
	{ "semaphores", semaphores, 8 },
	{ "keys", key, 8 },
};

int main(int argc, char **argv)
{
	int bound = argc > 1 ? atoi(argv[1]) : 0;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &set, NULL);
	/* Each kind in a process of its own: kinds share limits. */
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		int made = 0, most = bound;
		if (getenv("TIDY") && kinds[i].most < bound) {
			most = kinds[i].most;
		}
		if (fork() != 0) {
			wait(NULL);
			continue;
		}
		while (made < most && kinds[i].make() >= 0) {
			made++;
		}
		say(kinds[i].name, "%d %s", made, made < most ? outcome(-1) : "OK");
		_exit(0);
	}
	return 0;
}
