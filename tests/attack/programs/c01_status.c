/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C1, C2, C4, C6, C7, S1: the kernel's status of the program; with an argument, of that program
 * after it was started by execve.
 */
#include <linux/securebits.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "say.h"

static void say_status(void)
{
	static const char *const wanted[] = {
		"Uid",    "Gid",    "Groups", "CapInh",     "CapPrm",
		"CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp"
	};
	char line[512];
	FILE *file = fopen("/proc/self/status", "r");

	while (file && fgets(line, sizeof(line), file)) {
		char *colon = strchr(line, ':');
		for (size_t i = 0; colon && i < sizeof(wanted) / sizeof(wanted[0]); i++) {
			if (strncmp(line, wanted[i], (size_t)(colon - line)) == 0 &&
			    wanted[i][colon - line] == '\0') {
				line[strcspn(line, "\n")] = '\0';
				say(wanted[i], "%s", colon + 1 + strspn(colon + 1, "\t "));
			}
		}
	}
}

int main(int argc, char **argv)
{
	struct rlimit core;

	if (argc > 1) {
		execl(argv[1], argv[1], (char *)NULL);
		say("exec", "%s", outcome(-1));
		return 1;
	}
	say_status();
	say("euid", "%d", geteuid());
	say("groups", "%d", getgroups(0, NULL));
	say("securebits", "%#x", prctl(PR_GET_SECUREBITS, 0, 0, 0, 0));
	getrlimit(RLIMIT_CORE, &core);
	say("core", "%lu %lu", (unsigned long)core.rlim_cur, (unsigned long)core.rlim_max);
}
