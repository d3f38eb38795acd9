/* SPDX-License-Identifier: Apache-2.0 */
/* X14: waits for ever, in one of several ways. usage: x14_wait WAY */
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/stat.h>

#include "say.h"

static void fifo(void)
{
	char path[32];

	snprintf(path, sizeof(path), "fifo-%d", getpid());
	try("mkfifo", mkfifo(path, 0600));
	open(path, O_RDONLY);
}

static void stop_self(void)
{
	kill(getpid(), SIGSTOP);
}

/* A child that continues, a group that has stopped. */
static void stop_group(void)
{
	if (fork() == 0) {
		setpgid(0, 0);
		pause();
	}
	kill(0, SIGSTOP);
}

static void traced(void)
{
	try("traceme", ptrace(PTRACE_TRACEME, 0, 0, 0));
	raise(SIGSTOP);
}

static void sleep_long(void)
{
	sleep(1000000);
}

/* Parent and child wait, and no signal but SIGKILL reaches them. */
static void vforked(void)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	if (vfork() == 0) {
		for (;;) {
			pause();
		}
	}
}

static const struct {
	const char *name;
	void (*wait)(void);
} ways[] = {
	{ "sleep", sleep_long }, { "stop", stop_self }, { "group", stop_group },
	{ "trace", traced },     { "fifo", fifo },      { "vfork", vforked },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(argv[1], ways[i].name) == 0) {
			say("waiting", "yes");
			ways[i].wait();
			say("waiting", "over");
			return 0;
		}
	}
	return 99;
}
