/* SPDX-License-Identifier: Apache-2.0 */
/* X13: spins in several sessions, with every signal ignored. usage: x13_spin SESSIONS */
#include <signal.h>
#include <stdlib.h>

#include "say.h"

int main(int argc, char **argv)
{
	int sessions = argc > 1 ? atoi(argv[1]) : 1;
	sigset_t all;

	for (int i = 1; i < 65; i++) {
		signal(i, SIG_IGN);
	}
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	say("spinning", "yes");
	for (int i = 1; i < sessions; i++) {
		if (fork() == 0) {
			setsid();
			break;
		}
	}
	for (volatile unsigned long n = 0;; n++) {
	}
}
