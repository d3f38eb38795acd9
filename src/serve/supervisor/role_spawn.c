/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a role: see role_spawn.h. */
#include "serve/supervisor/role_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/strlist.h"
#include "kernel/sys.h"
#include "role/control.h"
#include "role/log.h"
#include "role/priority.h"

#define FIRST_FD    3
#define ABOVE_ALL   64 /* above every descriptor that a role is given */
#define STATUS_EXEC 125
#define ALL_ROLES   ((1u << ROLE_COUNT) - 1)

_Static_assert(FIRST_FD + SPAWN_FDS_MAX < ABOVE_ALL, "numbers of descriptors collide");

/* The environment variables that a role gets, and the reason for each. It gets no others. */
static const struct {
	const char *name;
	unsigned roles;
	const char *reason;
} passed[] = {
	{ "JOURNAL_STREAM", ALL_ROLES, "is stderr the journal?" },
	{ "HOME", 1u << ROLE_WARDEN, "the user's cache" },
	{ "XDG_CACHE_HOME", 1u << ROLE_WARDEN, "the user's cache" },
	{ "XDG_RUNTIME_DIR", 1u << ROLE_WARDEN, "the user's systemd, for control groups" },
	{ "DBUS_SESSION_BUS_ADDRESS", 1u << ROLE_WARDEN, "the same" },
	{ "TMPDIR", 1u << ROLE_WARDEN, "working directories of the local provider" },
	{ "BRIG_NO_CGROUP", 1u << ROLE_WARDEN, "hosts whose control groups are not to be used" },
};

static int make_environment(enum role_name role, struct strlist *ret)
{
	/*
	 * UTC by its own rule: no file is read, because the role will not be allowed to open any.
	 */
	int r = strlist_add(ret, "TZ=UTC0");

	r = r < 0 ? r : strlist_add(ret, "LC_ALL=C");
	r = r < 0 ? r : strlist_add(ret, "PATH=/usr/local/bin:/usr/bin:/bin");
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(passed); i++) {
		const char *value = secure_getenv(passed[i].name);
		if (value && (passed[i].roles & (1u << role))) {
			r = strlist_addf(ret, "%s=%s", passed[i].name, value);
		}
	}
	return r;
}

/* Moved to high numbers first: a descriptor may already have the number of another. */
static int place_fds(const struct spawn *spawn, int *program)
{
	int high[SPAWN_FDS_MAX];
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	*program = spawn->program < 0 ? -1 : fcntl(spawn->program, F_DUPFD_CLOEXEC, ABOVE_ALL);
	for (unsigned i = 0; i < spawn->fds_count; i++) {
		high[i] = fcntl(spawn->fds[i], F_DUPFD_CLOEXEC, ABOVE_ALL);
		if (high[i] < 0) {
			return -errno;
		}
	}
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0) {
		return -errno;
	}
	for (unsigned i = 0; i < spawn->fds_count; i++) {
		if (dup2(high[i], FIRST_FD + (int)i) < 0) {
			return -errno;
		}
	}
	int last = FIRST_FD + (int)spawn->fds_count;
	if (*program >= 0 && (dup3(*program, last, O_CLOEXEC) < 0)) {
		return -errno;
	}
	*program = *program < 0 ? -1 : last++;
	return sys_close_range((unsigned)last, ~0u, 0);
}

/* A session of its own: keys pressed at a terminal are for the supervisor only. */
static int become(const struct spawn *spawn, pid_t supervisor, int *program)
{
	static const int ignored[] = { SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGQUIT };
	sigset_t none;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0) {
		return -errno;
	}
	if (getppid() != supervisor) {
		return -ESRCH;
	}
	if (setsid() < 0 || chdir("/") < 0) {
		return -errno;
	}
	priority_raise();
	umask(077);
	/*
	 * The supervisor ends roles by their control line; signals to the group are for the
	 * supervisor only.
	 */
	for (size_t i = 0; i < ARRAY_SIZE(ignored); i++) {
		signal(ignored[i], SIG_IGN);
	}
	sigemptyset(&none);
	if (sigprocmask(SIG_SETMASK, &none, NULL) < 0) {
		return -errno;
	}
	return place_fds(spawn, program);
}

static _Noreturn void run_child(const struct spawn *spawn, pid_t supervisor, char **environment)
{
	char name[32], argument[] = ROLE_ARGUMENT;
	char *argv[] = { name, argument, NULL };
	int program = -1;
	int r = become(spawn, supervisor, &program);

	snprintf(name, sizeof(name), ROLE_PREFIX "%s", role_name(spawn->role));
	if (r == 0) {
		if (program >= 0) {
			fexecve(program, argv, environment);
		} else {
			execve("/proc/self/exe", argv, environment);
		}
		r = -errno;
	}
	role_log(ROLE_ERROR, "exec-failed", "of=%s cause=%s", role_name(spawn->role), strerror(-r));
	_exit(STATUS_EXEC);
}

int spawn_role(const struct spawn *spawn, pid_t *ret_pid, int *ret_pidfd, struct brig_error *err)
{
	_cleanup_(strlist_done)
	struct strlist environment = { 0 };
	pid_t self = getpid();

	if (make_environment(spawn->role, &environment) < 0) {
		return error_errno(err, BRIG_E_SYSTEM, ENOMEM, "%s", role_name(spawn->role));
	}
	pid_t pid = fork();
	if (pid < 0) {
		return error_errno(err, BRIG_E_SYSTEM, errno, "cannot start the %s",
				   role_name(spawn->role));
	}
	if (pid == 0) {
		run_child(spawn, self, environment.items);
	}
	/* Not waited for yet, so the pid cannot have been reused. */
	int pidfd = sys_pidfd_open(pid, 0);
	if (pidfd < 0) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		return error_errno(err, BRIG_E_HOST, -pidfd, "pidfd_open");
	}
	*ret_pid = pid;
	*ret_pidfd = pidfd;
	return 0;
}
