/* SPDX-License-Identifier: Apache-2.0 */
/* S1: the filter's mode in every thread, those of a child too; and it cannot be removed. */
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "say.h"

static void *look(void *who)
{
	char line[256];
	FILE *file = fopen("/proc/thread-self/status", "r");

	while (file && fgets(line, sizeof(line), file)) {
		if (strncmp(line, "Seccomp:", 8) == 0) {
			say((const char *)who, "%d", atoi(line + 8));
		}
	}
	return NULL;
}

int main(void)
{
	static char first[] = "first", child[] = "child";
	static char names[4][16];
	pthread_t threads[4];

	look(first);
	for (int i = 0; i < 4; i++) {
		snprintf(names[i], sizeof(names[i]), "thread%d", i);
		pthread_create(&threads[i], NULL, look, names[i]);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
	}
	if (fork() == 0) {
		look(child);
		_exit(0);
	}
	wait(NULL);
	try("disable", prctl(PR_SET_SECCOMP, 0, 0, 0, 0));
	try("strict-then", syscall(SYS_seccomp, 99, 0, NULL));
}
