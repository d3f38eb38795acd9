/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes the host's root away from the warden: it changes to an id of its own, makes a user
 * namespace and asks the broker to map the ids of cells into it. Inside, it is root over those ids,
 * and may do everything that cells need; outside, it has no rights. A host may forbid ordinary
 * users to make user namespaces, or nested ones: a child tries it first, because it cannot be
 * undone.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "broker_client/broker_client.h"
#include "kernel/own_ids.h"
#include "role/seal.h"

static int leave(uid_t id)
{
	if (setgroups(0, NULL) < 0 || setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0) {
		return -errno;
	}
	return unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 ? -errno : 0;
}

static int take_steps(uid_t id, int theirs)
{
	char mapped;
	int r = leave(id);

	if (r < 0) {
		return r;
	}
	if (write(theirs, "", 1) != 1 || read(theirs, &mapped, 1) != 1) {
		return -EIO;
	}
	return unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 ? -errno : 0;
}

/* The child: does all that the warden will do, and at the end makes a namespace for a cell. */
static _Noreturn void try_steps(uid_t id, int theirs)
{
	_exit(-take_steps(id, theirs));
}

static int map_child(pid_t child, uid_t id)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", (int)child);
	_cleanup_close_ int proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return proc < 0 ? -errno : own_ids_map(proc, id);
}

/* These errors mean that the host does not support it. A shortage, which is temporary, does not. */
static bool is_unsupported(int errnum)
{
	static const int lacking[] = { EPERM, ENOSYS, EINVAL, ENOSPC };

	for (size_t i = 0; i < ARRAY_SIZE(lacking); i++) {
		if (errnum == lacking[i]) {
			return true;
		}
	}
	return false;
}

/* The parent. */
static int lead(pid_t child, int line, uid_t id)
{
	char left;
	int r = 0, status;

	if (read(line, &left, 1) == 1) {
		r = map_child(child, id);
		(void)!write(line, "", r == 0);
	}
	close(line);
	while (waitpid(child, &status, 0) < 0) {
		if (errno != EINTR) {
			return -errno;
		}
	}
	return r < 0 ? r : WIFEXITED(status) ? -WEXITSTATUS(status) : -EIO;
}

static int try_first(uid_t id)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
		return -errno;
	}
	pid_t child = fork();
	if (child == 0) {
		close(ends[0]);
		try_steps(id, ends[1]);
	}
	int r = child < 0 ? -errno : 0;
	close(ends[1]);
	if (r < 0) {
		close(ends[0]);
		return r;
	}
	return lead(child, ends[0], id);
}

int seal_own_root(int line, uid_t id)
{
	struct broker broker = { .line = line };

	if (line < 0 || id == geteuid()) {
		return -ENOTSUP;
	}
	int r = try_first(id);
	if (r < 0) {
		return is_unsupported(-r) ? -ENOTSUP : r;
	}
	/* From here on it cannot be undone: it works, or the role does not start. */
	r = leave(id);
	r = r < 0 ? r : broker_map(&broker);
	if (r < 0) {
		return r;
	}
	/* The change of ids cleared it, and then children could not be inspected by /proc. */
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 ? -errno : 0;
}
