/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of the process that becomes the program: it drops all its own privileges. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/caps.h"
#include "kernel/sys.h"
#include "native/cell/cell.h"
#include "native/cell/init.h"
#include "run/spec/landlock_places.h"
#include "run/spec/rlimits.h"
#include "run/streams/terminal.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

int step_session(struct cell *cell, const struct step *step)
{
	sigset_t none;

	(void)cell;
	(void)step;
	if (setsid() < 0) {
		return -errno;
	}
	umask(022);
	sigemptyset(&none);
	return sigprocmask(SIG_SETMASK, &none, NULL) < 0 ? -errno : 0;
}

int step_stdio(struct cell *cell, const struct step *step)
{
	(void)step;
	for (int i = 0; i < 3; i++) {
		if (dup2(cell->stdio[i], i) < 0) {
			return -errno;
		}
		/* The limit on descriptors comes soon, and the last steps need some themselves. */
		close_fd(&cell->stdio[i]);
	}
	if (cell->terminal) {
		int r = terminal_take();
		if (r < 0) {
			return r;
		}
	}
	/*
	 * All others are close-on-exec already, or were closed by fd.close: this is a second
	 * barrier.
	 */
	return sys_close_range(3, ~0u, CLOSE_RANGE_CLOEXEC);
}

int step_user(struct cell *cell, const struct step *step)
{
	uid_t id = step->user.id;

	(void)cell;
	if (syscall(SYS_setresgid, id, id, id) < 0 || syscall(SYS_setresuid, id, id, id) < 0) {
		return -errno;
	}
	/*
	 * After the change of ids we are not dumpable and /proc/self belongs to root (prctl(2),
	 * PR_SET_DUMPABLE): the inner map could not be written.
	 */
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 ? -errno : 0;
}

static int write_self(const char *path, const char *text)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0) {
		return -errno;
	}
	return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

int step_inner(struct cell *cell, const struct step *step)
{
	(void)cell;
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 || unshare((int)step->inner.namespaces) < 0) {
		return -errno;
	}
	int r = write_self("/proc/self/setgroups", "deny");
	if (r < 0) {
		return r;
	}
	r = write_self("/proc/self/uid_map", step->inner.line);
	return r < 0 ? r : write_self("/proc/self/gid_map", step->inner.line);
}

int step_workdir(struct cell *cell, const struct step *step)
{
	(void)cell;
	return chdir(step->workdir.path) < 0 ? -errno : 0;
}

int step_rlimit(struct cell *cell, const struct step *step)
{
	(void)cell;
	return rlimit_lower(step->rlimit.resource, step->rlimit.value);
}

int step_caps(struct cell *cell, const struct step *step)
{
	(void)cell;
	(void)step;
	return caps_drop_all();
}

int step_nnp(struct cell *cell, const struct step *step)
{
	(void)cell;
	(void)step;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
}

int step_landlock(struct cell *cell, const struct step *step)
{
	struct landlock_place places[LANDLOCK_PLACES_MAX];
	size_t count = LANDLOCK_FIXED;

	memcpy(places, landlock_fixed, sizeof(landlock_fixed));
	for (unsigned i = 0; i < cell->plan->count; i++) {
		const struct step *mount = &cell->plan->steps[i];
		if (mount->kind != STEP_MOUNT || (mount->mount.attributes & MOUNT_ATTR_RDONLY)) {
			continue;
		}
		if (count == LANDLOCK_PLACES_MAX) {
			return -E2BIG;
		}
		/* Relative to "/", which is not the working directory. */
		places[count++] =
			(struct landlock_place){ .path = mount->mount.target, .writable = true };
	}
	if (count > LANDLOCK_FIXED && chdir("/") < 0) {
		return -errno;
	}
	int r = landlock_enforce(step->landlock.abi, places, count);
	if (r < 0) {
		return r;
	}
	return count > LANDLOCK_FIXED && chdir("/sandbox") < 0 ? -errno : 0;
}

int step_seccomp(struct cell *cell, const struct step *step)
{
	struct sock_fprog program = {
		.len = (unsigned short)step->seccomp.count,
		.filter = (struct sock_filter *)(uintptr_t)step->seccomp.code,
	};
	unsigned flags = 0;

	if (step->seccomp.listens) {
		flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
	}
	int r = sys_seccomp(SECCOMP_SET_MODE_FILTER, flags, &program);
	if (r == -EINVAL && step->seccomp.listens) {
		/* before 5.19: a signal can then interrupt a call that waits for its answer */
		flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
		r = sys_seccomp(SECCOMP_SET_MODE_FILTER, flags, &program);
	}
	if (r < 0) {
		return r;
	}
	bool killable = (flags & SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV) != 0;
	return step->seccomp.listens
		       ? payload_report_write(cell->report_pipe[1], PAYLOAD_REPORT_LISTENER,
					      (uint32_t)r, killable)
		       : 0;
}

/* The descriptor table is not shared any more: a descriptor with this number is replaced. */
int step_value(struct cell *cell, const struct step *step)
{
	int fd = step->value.number;

	if (cell->value_fd == fd) {
		return fcntl(fd, F_SETFD, 0) < 0 ? -errno : 0;
	}
	return sys_result(syscall(SYS_dup3, cell->value_fd, fd, 0)) < 0 ? -errno : 0;
}

int step_exec(struct cell *cell, const struct step *step)
{
	const struct spec *spec = cell->plan->spec;
	bool held = spec_traits(spec)->held;
	const char *const *argv = held ? cell->assignment.argv : spec->argv;
	const char *const *envp = held ? cell->assignment.envp : spec->envp;

	execve(held ? argv[0] : step->exec.path, (char *const *)(uintptr_t)argv,
	       (char *const *)(uintptr_t)envp);
	return -errno;
}
