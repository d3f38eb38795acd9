/* SPDX-License-Identifier: Apache-2.0 */
/* N2: signals to all: the group, all processes, the session of pid 1. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "say.h"

int main(void)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		pause();
		_exit(0);
	}
	signal(SIGTERM, SIG_IGN);
	try("group", kill(0, SIGTERM));
	waitpid(child, &status, 0);
	say("child", "%s", WIFSIGNALED(status) ? "killed" : "alive");
	signal(SIGUSR1, SIG_IGN);
	try("all", kill(-1, SIGUSR1));
	try("group-of-init", kill(-1, SIGTERM));
	say("after", "alive");
}
