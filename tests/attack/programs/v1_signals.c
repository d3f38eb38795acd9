/* SPDX-License-Identifier: Apache-2.0 */
/*
 * V1: signals to all, to the group, to the parent, to the session, and to a process of the host.
 * usage: v1_signals SIGNAL [HOST-PID]. Ends with 42.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "say.h"

int main(int argc, char **argv)
{
	int number = argc > 1 ? atoi(argv[1]) : SIGTERM;
	int status = 0;

	signal(number, SIG_IGN);
	pid_t child = fork();
	if (child == 0) {
		signal(number, SIG_DFL);
		for (;;) {
			pause();
		}
	}
	usleep(20000);
	if (argc > 2) {
		try("host", kill(atoi(argv[2]), 0));
		try("host_group", kill(-atoi(argv[2]), 0));
	}
	if (getenv("GENTLE")) {
		kill(child, SIGKILL);
		return 42;
	}
	try("parent", kill(getppid(), number));
	for (pid_t pid = 3; pid < 70000; pid++) {
		if (pid != getpid() && pid != child && kill(pid, number) == 0) {
			say("reached", "%d", pid);
		}
	}
	try("all", kill(-1, number));
	try("wait", waitpid(child, &status, 0));
	say("child", "%d", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	if (number != SIGKILL && number != SIGSTOP) {
		try("group", kill(0, number));
	}
	return 42;
}
