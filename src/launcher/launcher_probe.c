/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether this host has a launcher that works: one of the built-in files whose program is found,
 * whose trial has the expected exit status, and which starts the agent within the deadline.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "kernel/probe/probe.h"
#include "kernel/sys.h"
#include "launcher/launcher_provider.h"

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
static int run_trial(const struct launcher *launcher, const char *path, uint64_t deadline_ns)
{
	_cleanup_(strlist_done)
	struct strlist command = { 0 };
	char *const nothing[] = { NULL };
	posix_spawn_file_actions_t actions;
	pid_t pid = 0;
	int r = strlist_add(&command, path);

	for (size_t i = 0; r == 0 && i < launcher->probe.count; i++) {
		r = strlist_add(&command, launcher->probe.items[i]);
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

static int try_command(const struct launcher *launcher, const char *path, uint64_t deadline_ns,
		       struct brig_error *err)
{
	int status = launcher->probe.count ? run_trial(launcher, path, deadline_ns) : 0;

	if (status >= 0 && WIFEXITED(status) &&
	    (uint64_t)WEXITSTATUS(status) == launcher->probe_status) {
		return 0;
	}
	int r = error_set(err, BRIG_E_HOST, status == -ETIMEDOUT ? ETIMEDOUT : EIO,
			  status == -ETIMEDOUT ? "%s did not answer in time" : "%s does not work",
			  path);
	error_remedy(err, "try it by hand: %s --version", path);
	return r;
}

static void missing(const struct brig_error *err, struct probe_finding *ret)
{
	ret->state = PROBE_MISSING;
	ret->errnum = err->errnum;
	snprintf(ret->detail, sizeof(ret->detail), "%.*s", (int)sizeof(ret->detail) - 1,
		 err->message);
	snprintf(ret->repair, sizeof(ret->repair), "%.*s", (int)sizeof(ret->repair) - 1,
		 err->remedy);
}

/* -ENOENT: its program is not there. Anything else is in the finding. */
static int probe_one(const struct probe_report *host, const struct launcher *launcher,
		     uint64_t deadline_ns, struct probe_finding *ret)
{
	_cleanup_(strlist_done)
	struct strlist command = { 0 };
	char path[HELD_PATH_MAX] = "";
	struct brig_error err = { 0 };
	struct spec spec = { .provider = &launcher_provider,
			     .layers = launcher_provider.layers,
			     .launcher = launcher };
	int r = launcher_command(launcher, path, &command, &err);

	*ret = (struct probe_finding){ 0 };
	if (r == 0 && try_command(launcher, path, deadline_ns, &err) == 0) {
		held_probe(host, &spec, deadline_ns, ret);
		return 0;
	}
	missing(&err, ret);
	return r;
}

void launcher_probe(const struct probe_report *host, uint64_t deadline_ns,
		    struct probe_finding *ret)
{
	_cleanup_(strlist_done)
	struct strlist names = { 0 };
	struct probe_finding first = { .state = PROBE_MISSING };

	if (!probe_required_calls(host, ret)) {
		return;
	}
	(void)launcher_names(&names);
	for (size_t i = 0; i < names.count; i++) {
		_cleanup_(launcher_done)
		struct launcher launcher = { 0 };
		struct brig_error err = { 0 };
		if (launcher_built_in(names.items[i], &launcher, &err) < 0) {
			missing(&err, ret);
			return;
		}
		if (probe_one(host, &launcher, deadline_ns, ret) != -ENOENT) {
			return;
		}
		first = i == 0 ? *ret : first;
	}
	*ret = first;
}

void launcher_probe_for(const struct probe_report *host, uint64_t deadline_ns,
			const struct spec *spec, struct probe_finding *ret)
{
	if (probe_required_calls(host, ret)) {
		(void)probe_one(host, spec->launcher, deadline_ns, ret);
	}
}
