/* SPDX-License-Identifier: Apache-2.0 */
/* N2: visible processes, and whether those of the arguments can be reached. */
#include <ctype.h>
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "say.h"

static void list_processes(void)
{
	char list[2048] = "";
	struct dirent *entry;
	DIR *proc = opendir("/proc");

	while (proc && (entry = readdir(proc))) {
		if (isdigit(entry->d_name[0]) && strlen(list) < 2000) {
			strcat(list, list[0] ? " " : "");
			strcat(list, entry->d_name);
		}
	}
	say("listed", "%s", list);
	say("self", "%d", getpid());
}

/* Printed separately: a busy host has more processes than fit into one line. */
static void look_for(const char *pid)
{
	char name[64];
	bool found = false;
	struct dirent *entry;
	DIR *proc = opendir("/proc");

	while (proc && (entry = readdir(proc))) {
		found |= strcmp(entry->d_name, pid) == 0;
	}
	snprintf(name, sizeof(name), "lists %s", pid);
	say(name, "%s", found ? "yes" : "no");
}

int main(int argc, char **argv)
{
	char name[64];

	list_processes();
#define TRY(what, call) (snprintf(name, sizeof(name), what " %d", pid), try(name, call))
	for (int i = 1; i < argc; i++) {
		int pid = atoi(argv[i]);
		look_for(argv[i]);
		TRY("kill", kill(pid, 0));
		TRY("tkill", syscall(SYS_tkill, pid, 0));
		TRY("pidfd_open", syscall(SYS_pidfd_open, pid, 0));
		TRY("getpriority", getpriority(PRIO_PROCESS, (id_t)pid));
		TRY("getsid", getsid(pid));
		TRY("affinity", sched_getscheduler(pid));
		TRY("prlimit", prlimit(pid, RLIMIT_CORE, NULL, &(struct rlimit){ 0 }));
	}
}
