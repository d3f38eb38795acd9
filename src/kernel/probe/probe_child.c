/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A temporary child for an attempt: started like a cell's pid 1, notified when its ids are mapped,
 * killed by its pidfd when it takes too long. It dies with us, and its mounts are in its own mount
 * namespace, so nothing is left however it or we end.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "kernel/probe/probe_internal.h"
#include "kernel/proc_write.h"
#include "kernel/sys.h"

#define ATTEMPT_NS UINT64_C(1500000000)
#define REAP_NS    UINT64_C(300000000)

struct probe_child {
	pid_t pid;
	int pidfd;      /* owned; -1: the kernel has none */
	int release[2]; /* owned: reports to the child that the ids are mapped */
	int notes[2];   /* owned: the child reports the result */
};

int probe_step(struct probe_note *note, const char *what, int r)
{
	size_t length = strnlen(what, sizeof(note->what) - 1);

	memcpy(note->what, what, length);
	note->what[length] = '\0';
	return r;
}

static int become(const struct probe_attempt *attempt)
{
	umask(0);
	if (setresgid(0, 0, 0) < 0) {
		return -errno;
	}
	if (attempt->first_id && syscall(SYS_setgroups, 0, NULL) < 0) {
		return -errno;
	}
	if (setresuid(0, 0, 0) < 0) {
		return -errno;
	}
	/* The change of ids has cleared it. */
	return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ? -errno : 0;
}

static int join(const struct probe_attempt *attempt)
{
	int fds[CGROUP_JOIN_MAX];
	int count = attempt->group ? cgroup_join_fds(attempt->group, fds) : 0;

	for (int i = 0; i < count; i++) {
		if (write(fds[i], "0", 1) != 1) {
			return -errno;
		}
	}
	return 0;
}

static int child_try(const struct probe_attempt *attempt, struct probe_note *note, int release)
{
	char byte;
	int r = probe_step(note, "join the cgroup", join(attempt));

	if (r < 0) {
		return r;
	}
	/* End of file: our parent died, or could not map the ids and reports it itself. */
	if (read(release, &byte, 1) != 1) {
		_exit(1);
	}
	if (attempt->namespaces & CLONE_NEWUSER) {
		r = probe_step(note, "take the mapped ids", become(attempt));
	}
	return r < 0 || !attempt->inside ? r : attempt->inside(attempt, note);
}

static _Noreturn void child_main(const struct probe_attempt *attempt, struct probe_child *child)
{
	struct probe_note note = { 0 };

	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	close_fd(&child->release[1]);
	close_fd(&child->notes[0]);
	note.errnum = -child_try(attempt, &note, child->release[0]);
	_exit(write(child->notes[1], &note, sizeof(note)) == sizeof(note) ? 0 : 1);
}

/* Like step "clone": clone3, else the old call, which does not support cgroups. */
static int clone_child(const struct probe_attempt *attempt, struct probe_child *child)
{
	int cgroup = attempt->group ? cgroup_clone_fd(attempt->group) : -1;
	uint64_t flags = attempt->namespaces | CLONE_PIDFD;
	struct clone_args args = {
		.flags = flags | (cgroup >= 0 ? CLONE_INTO_CGROUP : 0),
		.pidfd = (uintptr_t)&child->pidfd,
		.cgroup = cgroup >= 0 ? (unsigned)cgroup : 0,
	};
	int pid = -ENOSYS;

	/* A plain child needs no new call: it finds out whether clone3 exists. */
	if (attempt->namespaces || cgroup >= 0) {
		pid = sys_clone3(&args, sizeof(args));
	}
	if (pid != -ENOSYS || cgroup >= 0) {
		return pid;
	}
	pid = sys_result(syscall(SYS_clone, flags, NULL, &child->pidfd, NULL, NULL));
	if (pid == -EINVAL && attempt->namespaces == 0) {
		child->pidfd = -1;
		pid = sys_result(syscall(SYS_clone, 0, NULL, NULL, NULL, NULL));
	}
	return pid;
}

static int child_start(const struct probe_attempt *attempt, struct probe_child *child)
{
	sigset_t all, before;

	if (pipe2(child->release, O_CLOEXEC) < 0 || pipe2(child->notes, O_CLOEXEC) < 0) {
		return -errno;
	}
	/* A handler of the host program must not run in the child. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	int pid = clone_child(attempt, child);
	if (pid == 0) {
		child_main(attempt, child);
	}
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0) {
		child->pidfd = -1;
		return pid;
	}
	child->pid = pid;
	close_fd(&child->release[0]);
	close_fd(&child->notes[1]);
	return 0;
}

static int map_ids(const struct probe_attempt *attempt, pid_t pid, struct probe_note *note)
{
	unsigned count = attempt->first_id ? 2 : 1;
	char uids[48], gids[48];

	snprintf(uids, sizeof(uids), "0 %u %u\n",
		 attempt->first_id ? attempt->first_id : (unsigned)geteuid(), count);
	snprintf(gids, sizeof(gids), "0 %u %u\n",
		 attempt->first_id ? attempt->first_id : (unsigned)getegid(), count);
	if (!attempt->first_id) {
		int r = probe_step(note, "write setgroups", proc_write(pid, "setgroups", "deny"));
		if (r < 0) {
			return r;
		}
	}
	int r = probe_step(note, "write uid_map", proc_write(pid, "uid_map", uids));
	return r < 0 ? r : probe_step(note, "write gid_map", proc_write(pid, "gid_map", gids));
}

static bool reaped(const struct probe_child *child)
{
	siginfo_t info = { 0 };

	/* __WALL: otherwise a child without an exit signal is not found. */
	return waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | __WALL) < 0 ||
	       info.si_pid != 0;
}

static void child_end(struct probe_child *child)
{
	uint64_t deadline_ns = clock_now_ns() + REAP_NS;

	if (child->pid > 0) {
		/* It was not reaped yet, so its pid is still valid where there are no pidfds. */
		if (child->pidfd < 0 || sys_pidfd_send_signal(child->pidfd, SIGKILL) == -ENOSYS) {
			kill(child->pid, SIGKILL);
		}
		while (!reaped(child) && clock_now_ns() < deadline_ns) {
			struct pollfd gone = { .fd = child->pidfd, .events = POLLIN };
			struct timespec nap = { .tv_nsec = 500000 };
			if (child->pidfd < 0 || poll(&gone, 1, 20) < 0) {
				nanosleep(&nap, NULL);
			}
		}
	}
	close_fd(&child->pidfd);
	for (int i = 0; i < 2; i++) {
		close_fd(&child->release[i]);
		close_fd(&child->notes[i]);
	}
}

static int child_read(const struct probe_child *child, struct probe_note *note)
{
	uint64_t deadline_ns = clock_now_ns() + ATTEMPT_NS;
	struct pollfd ready = { .fd = child->notes[0], .events = POLLIN };

	for (;;) {
		uint64_t now_ns = clock_now_ns();
		if (now_ns >= deadline_ns) {
			return probe_step(note, "the attempt took too long", -ETIMEDOUT);
		}
		int n = poll(&ready, 1, (int)((deadline_ns - now_ns) / 1000000) + 1);
		if (n < 0 && errno != EINTR) {
			return -errno;
		}
		if (n > 0) {
			break;
		}
	}
	if (read(child->notes[0], note, sizeof(*note)) != sizeof(*note)) {
		return probe_step(note, "the attempt was killed", -ECANCELED);
	}
	note->what[sizeof(note->what) - 1] = '\0';
	return -note->errnum;
}

static int child_run(struct probe_child *child, const struct probe_attempt *attempt,
		     struct probe_note *note)
{
	int r = probe_step(note, "clone", child_start(attempt, child));

	if (r < 0) {
		return r;
	}
	if (attempt->namespaces & CLONE_NEWUSER) {
		r = map_ids(attempt, child->pid, note);
	}
	if (r < 0) {
		return r;
	}
	if (attempt->group) {
		r = probe_step(note, "attach to the cgroup",
			       cgroup_attach(attempt->group, child->pid, NULL));
	}
	if (r < 0) {
		return r;
	}
	return write(child->release[1], "", 1) == 1 ? child_read(child, note) : -errno;
}

int probe_attempt(const struct probe_attempt *attempt, struct probe_note *ret)
{
	struct probe_child child = { .pidfd = -1, .release = { -1, -1 }, .notes = { -1, -1 } };
	struct probe_note note = { 0 };
	int r = child_run(&child, attempt, &note);

	child_end(&child);
	note.errnum = -r;
	*ret = note;
	return r;
}
