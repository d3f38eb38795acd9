/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the warden stops being root: it takes an id of its own, makes a user namespace and asks the
 * broker to map the ids of cells into it. Inside it is root over those ids, and may do to cells all
 * that cells need; outside it is nobody. A host may forbid ordinary users to make user namespaces,
 * or namespaces inside of namespaces: a child tries it first, because there is no way back.
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
#include "kernel/broker.h"
#include "kernel/own_ids.h"
#include "role/seal.h"

static int leave(uid_t id)
{
	if (setgroups(0, NULL) < 0 || setresgid(id, id, id) < 0 || setresuid(id, id, id) < 0) {
		return -errno;
	}
	return unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 ? -errno : 0;
}

/* The child's part: all that the warden will do, with a namespace for a cell at the end. */
static _Noreturn void try_all(uid_t id, int theirs)
{
	char mapped;
	int r = leave(id);

	if (r == 0 && (write(theirs, "", 1) != 1 || read(theirs, &mapped, 1) != 1)) {
		r = -EIO;
	}
	if (r == 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) {
		r = -errno;
	}
	_exit(r < 0);
}

static int map_child(pid_t child, uid_t id)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d", (int)child);
	_cleanup_close_ int proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return proc < 0 ? -errno : own_ids_map(proc, id);
}

static int try_first(uid_t id)
{
	int ends[2], status = -1;
	char left;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0) {
		return -errno;
	}
	pid_t child = fork();
	if (child == 0) {
		close(ends[0]);
		try_all(id, ends[1]);
	}
	close(ends[1]);
	if (child > 0 && read(ends[0], &left, 1) == 1 && map_child(child, id) == 0) {
		(void)!write(ends[0], "", 1);
	}
	close(ends[0]);
	if (child > 0) {
		while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
		}
	}
	return status == 0 ? 0 : -ENOTSUP;
}

int seal_own_root(int line, uid_t id)
{
	struct broker broker = { .line = line };

	if (line < 0 || id == geteuid() || try_first(id) < 0) {
		return -ENOTSUP;
	}
	/* From here on there is no way back: it works, or the role does not start. */
	int r = leave(id);
	r = r < 0 ? r : broker_map(&broker);
	if (r < 0) {
		return r;
	}
	/* New ids took it away, and children could then not be looked into by /proc. */
	return prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 ? -errno : 0;
}
