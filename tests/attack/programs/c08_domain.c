/* SPDX-License-Identifier: Apache-2.0 */
/*
 * C8: accesses that Landlock alone forbids (its own name in /proc is open for writing to anybody
 * else), in the first thread, in a thread, in a child, and after an execve.
 */
#include <fcntl.h>
#include <linux/landlock.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "say.h"

static void *look(void *who)
{
	char name[64];

	snprintf(name, sizeof(name), "write-%s", (const char *)who);
	try(name, open("/proc/self/comm", O_WRONLY));
	snprintf(name, sizeof(name), "signal-%s", (const char *)who);
	try(name, kill(1, 0));
	return NULL;
}

int main(int argc, char **argv)
{
	static char first[] = "first", second[] = "thread", child[] = "child", program[] = "exec";
	pthread_t thread;

	if (argc > 1) {
		look(program);
		return 0;
	}
	look(first);
	pthread_create(&thread, NULL, look, second);
	pthread_join(thread, NULL);
	if (fork() == 0) {
		look(child);
		execl(argv[0], argv[0], "again", (char *)NULL);
		_exit(1);
	}
	wait(NULL);
	/* An additional rule set, which forbids almost nothing, must not allow anything. */
	struct landlock_ruleset_attr attr = { .handled_access_fs = LANDLOCK_ACCESS_FS_MAKE_BLOCK };
	int rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	try("create", rules);
	try("restrict", syscall(SYS_landlock_restrict_self, rules, 0));
	try("write-after", open("/proc/self/comm", O_WRONLY));
}
