/* SPDX-License-Identifier: Apache-2.0 */
/* A trial of a tool that a data file describes: does it answer as its file says? */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "holder/held.h"
#include "kernel/sys.h"

/* Waits until the deadline, and kills it then. -ETIMEDOUT, or its wait status. */
static int wait_until(pid_t pid, uint64_t deadline_ns)
{
	_cleanup_close_ int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	uint64_t now = clock_now_ns();
	int timeout = now < deadline_ns ? (int)((deadline_ns - now) / 1000000u) : 0;
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	bool done = fd >= 0 && poll(&ready, 1, timeout) > 0;
	int status = 0;

	if (!done) {
		kill(pid, SIGKILL);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
	}
	return done ? status : -ETIMEDOUT;
}

/* Runs PROGRAM with the arguments of the trial, without any input or output. */
static int run_trial(const char *path, const struct strlist *arguments, uint64_t deadline_ns)
{
	_cleanup_(strlist_done)
	struct strlist command = { 0 };
	char *const nothing[] = { NULL };
	posix_spawn_file_actions_t actions;
	pid_t pid = 0;
	int r = strlist_add(&command, path);

	for (size_t i = 0; r == 0 && i < arguments->count; i++) {
		r = strlist_add(&command, arguments->items[i]);
	}
	if (r < 0 || posix_spawn_file_actions_init(&actions) != 0) {
		return -ENOMEM;
	}
	for (int fd = 0; r == 0 && fd < 3; fd++) {
		r = -posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
	}
	r = r < 0 ? r : -posix_spawn(&pid, path, &actions, NULL, command.items, nothing);
	posix_spawn_file_actions_destroy(&actions);
	return r < 0 ? r : wait_until(pid, deadline_ns);
}

int held_try(const char *path, const struct held_trial *trial, uint64_t deadline_ns,
	     struct brig_error *err)
{
	int status = trial->arguments->count ? run_trial(path, trial->arguments, deadline_ns) : 0;

	if (status >= 0 && WIFEXITED(status) && (uint64_t)WEXITSTATUS(status) == trial->status) {
		return 0;
	}
	int r = error_set(err, BRIG_E_HOST, status == -ETIMEDOUT ? ETIMEDOUT : EIO,
			  status == -ETIMEDOUT ? "%s did not answer in time" : "%s does not work",
			  path);
	error_remedy(err, "try it by hand: %s --version", path);
	return r;
}
