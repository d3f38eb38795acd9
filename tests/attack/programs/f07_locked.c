/* SPDX-License-Identifier: Apache-2.0 */
/*
 * F7: removes every protection of mounts, with all capabilities of the namespaces that they are in.
 *
 * usage: f07_locked PID PLACE...; the user and mount namespaces of that process are joined first,
 * which gives all capabilities there. PID 0: stays in its own.
 */
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "say.h"

#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif

static int namespace_of(const char *pid, const char *kind)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s/ns/%s", pid, kind);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/* Both are opened first: the mount namespace brings another /proc. */
static void join(const char *pid)
{
	int user = (int)try("open-user", namespace_of(pid, "user"));
	int mnt = (int)try("open-mnt", namespace_of(pid, "mnt"));

	try("join-user", setns(user, CLONE_NEWUSER));
	try("join-mnt", setns(mnt, CLONE_NEWNS));
	/* One of the available ids; without it, no file could be made. The capabilities stay. */
	if (setresgid(0, 0, 0) < 0 || setresuid(0, 0, 0) < 0) {
		try("id", setresgid(1000, 1000, 1000) < 0 ? -1 : setresuid(1000, 1000, 1000));
	}
}

static void attempt(const char *what, const char *place, long result)
{
	char name[600];

	snprintf(name, sizeof(name), "%s %s", what, place);
	said(name, result);
}

static long setattr(int dir, const char *path, unsigned flags, uint64_t clear)
{
	struct mount_attr attr = { .attr_clr = clear };

	return syscall(SYS_mount_setattr, dir, path, flags, &attr, sizeof(attr));
}

static void strip(const char *place)
{
	char path[512];

	attempt("remount", place, mount(NULL, place, NULL, MS_REMOUNT | MS_BIND, NULL));
	attempt("setattr", place, setattr(AT_FDCWD, place, 0, MOUNT_ATTR_RDONLY));
	attempt("nosuid", place, setattr(AT_FDCWD, place, 0, MOUNT_ATTR_NOSUID));
	attempt("nodev", place, setattr(AT_FDCWD, place, 0, MOUNT_ATTR_NODEV));
	/* A copy that is not attached yet: the flags are copied with it. */
	int tree = (int)syscall(SYS_open_tree, AT_FDCWD, place, OPEN_TREE_CLONE | AT_RECURSIVE);
	attempt("copy", place, setattr(tree, "", AT_EMPTY_PATH, MOUNT_ATTR_RDONLY));
	snprintf(path, sizeof(path), "%s/brig-attack", place);
	attempt("write", place, open(path, O_WRONLY | O_CREAT, 0644));
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "0") != 0) {
		join(argv[1]);
	}
	for (int i = 2; i < argc; i++) {
		strip(argv[i]);
	}
	/* Files beneath a mount would become visible. */
	for (int i = 2; i < argc; i++) {
		if (strcmp(argv[i], "/") != 0) {
			attempt("umount", argv[i], umount2(argv[i], MNT_DETACH));
		}
	}
	/*
	 * Only a process with the capabilities can do this: a refusal above was not for lack of
	 * them.
	 */
	try("tmpfs", mount("none", "/mnt", "tmpfs", 0, NULL));
}
