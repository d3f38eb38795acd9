/* SPDX-License-Identifier: Apache-2.0 */
/* N5, N6: a new namespace of each kind, by unshare, clone and clone3. */
#include <linux/sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "say.h"

struct kind {
	const char *name;
	unsigned long flag;
};

/* In a child, so that one success does not make the next one easier. */
static void by_unshare(const struct kind *kind)
{
	char name[32];

	if (fork() == 0) {
		snprintf(name, sizeof(name), "unshare-%s", kind->name);
		try(name, syscall(SYS_unshare, kind->flag));
		_exit(0);
	}
	wait(NULL);
}

static void by_clone(const struct kind *kind, const char *how, int three)
{
	struct clone_args args = { .flags = kind->flag, .exit_signal = SIGCHLD };
	char name[32];

	long pid = three ? syscall(SYS_clone3, &args, sizeof(args))
			 : syscall(SYS_clone, kind->flag | SIGCHLD, 0, 0, 0, 0);
	if (pid == 0) {
		_exit(0);
	}
	snprintf(name, sizeof(name), "%s-%s", how, kind->name);
	/* Not try(): errno is that of the call above. */
	said(name, pid);
	wait(NULL);
}

int main(void)
{
	static const struct kind kinds[] = {
		{ "user", CLONE_NEWUSER },     { "mnt", CLONE_NEWNS },    { "pid", CLONE_NEWPID },
		{ "net", CLONE_NEWNET },       { "ipc", CLONE_NEWIPC },   { "uts", CLONE_NEWUTS },
		{ "cgroup", CLONE_NEWCGROUP }, { "time", CLONE_NEWTIME },
	};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		by_unshare(&kinds[i]);
		/* In clone's flags this bit is part of the signal number. */
		if (kinds[i].flag != CLONE_NEWTIME) {
			by_clone(&kinds[i], "clone", 0);
		}
		by_clone(&kinds[i], "clone3", 1);
	}
}
