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
#include "kernel/landlock.h"
#include "kernel/sys.h"
#include "native/cell/cell.h"
#include "native/cell/init.h"
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
	uid_t id = (uid_t)step->value;

	(void)cell;
	if (syscall(SYS_setresgid, id, id, id) < 0 || syscall(SYS_setresuid, id, id, id) < 0) {
		return -errno;
	}
	/*
	 * After the change of ids /proc/self belongs to root, and the inner map could not be
	 * written.
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
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 || unshare((int)step->flags) < 0) {
		return -errno;
	}
	int r = write_self("/proc/self/setgroups", "deny");
	if (r == 0) {
		r = write_self("/proc/self/uid_map", step->text);
	}
	if (r == 0) {
		r = write_self("/proc/self/gid_map", step->text);
	}
	return r;
}

int step_workdir(struct cell *cell, const struct step *step)
{
	(void)cell;
	return chdir(step->path) < 0 ? -errno : 0;
}

int step_rlimit(struct cell *cell, const struct step *step)
{
	(void)cell;
	return rlimit_lower((int)step->flags, step->value);
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

#define PLACES_MAX 64

int step_landlock(struct cell *cell, const struct step *step)
{
	struct landlock_place places[PLACES_MAX] = {
		{ .path = "/" },
		{ .path = "/dev", .device = true },
		{ .path = "/dev/shm", .writable = true },
		{ .path = "/sandbox", .writable = true },
		{ .path = "/tmp", .writable = true },
	};
	size_t count = 5;

	for (unsigned i = 0; i < cell->plan->count; i++) {
		const struct step *mount = &cell->plan->steps[i];
		if (mount->kind != STEP_MOUNT || (mount->flags & MOUNT_ATTR_RDONLY)) {
			continue;
		}
		if (count == PLACES_MAX) {
			return -E2BIG;
		}
		/* Relative to "/", which is not the working directory. */
		places[count++] = (struct landlock_place){ .path = mount->path, .writable = true };
	}
	if (count > 5 && chdir("/") < 0) {
		return -errno;
	}
	int r = landlock_enforce((int)step->value, places, count);
	if (r == 0 && count > 5 && chdir("/sandbox") < 0) {
		r = -errno;
	}
	return r;
}

int step_seccomp(struct cell *cell, const struct step *step)
{
	struct sock_fprog program = {
		.len = (unsigned short)step->size,
		.filter = (struct sock_filter *)(uintptr_t)step->data,
	};
	unsigned flags = 0;

	if (step->value) {
		flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
	}
	int r = sys_seccomp(SECCOMP_SET_MODE_FILTER, flags, &program);
	if (r == -EINVAL && step->value) {
		/* before 5.19: a signal can then interrupt a call that waits for its answer */
		flags = SECCOMP_FILTER_FLAG_NEW_LISTENER;
		r = sys_seccomp(SECCOMP_SET_MODE_FILTER, flags, &program);
	}
	if (r < 0) {
		return r;
	}
	bool killable = (flags & SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV) != 0;
	return step->value ? payload_report_write(cell->report_pipe[1], PAYLOAD_REPORT_LISTENER,
						  (uint32_t)r, killable)
			   : 0;
}

/* The descriptor table is not shared any more: a descriptor with this number is replaced. */
int step_value(struct cell *cell, const struct step *step)
{
	int fd = (int)step->value;

	if (cell->value_fd == fd) {
		return fcntl(fd, F_SETFD, 0) < 0 ? -errno : 0;
	}
	return sys_result(syscall(SYS_dup3, cell->value_fd, fd, 0)) < 0 ? -errno : 0;
}

int step_exec(struct cell *cell, const struct step *step)
{
	const struct spec *spec = cell->plan->spec;
	const char *const *argv = spec->held ? cell->assignment.argv : spec->argv;
	const char *const *envp = spec->held ? cell->assignment.envp : spec->envp;

	execve(spec->held ? argv[0] : step->path, (char *const *)(uintptr_t)argv,
	       (char *const *)(uintptr_t)envp);
	return -errno;
}
