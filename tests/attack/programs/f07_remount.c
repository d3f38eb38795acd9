/* SPDX-License-Identifier: Apache-2.0 */
/*
 * F7: every way to change mounts, old and new, on the read-only place of the first argument; then
 * whether it can be written. "unshare" as second argument: in a mount namespace of its own first.
 */
#include <fcntl.h>
#include <linux/mount.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "say.h"

#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif

static void old_calls(const char *place)
{
	try("remount", mount(NULL, place, NULL, MS_REMOUNT | MS_BIND, NULL));
	try("remount-root", mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL));
	/* Not /tmp: one of the host's can have mounts beneath, which no namespace may uncover. */
	try("bind", mount(place, "/mnt", NULL, MS_BIND, NULL));
	try("bind-over", mount(place, place, NULL, MS_BIND, NULL));
	try("move", mount("/tmp", "/mnt", NULL, MS_MOVE, NULL));
	try("shared", mount(NULL, "/", NULL, MS_REC | MS_SHARED, NULL));
	try("tmpfs", mount("none", "/mnt", "tmpfs", 0, NULL));
	try("umount", umount2("/dev/null", 0));
	try("umount-lazy", umount2(place, MNT_DETACH));
}

static void new_calls(const char *place)
{
	struct mount_attr attr = { .attr_clr = MOUNT_ATTR_RDONLY };

	try("mount_setattr", syscall(SYS_mount_setattr, AT_FDCWD, place, 0, &attr, sizeof(attr)));
	int tree = (int)try("open_tree", syscall(SYS_open_tree, AT_FDCWD, place,
						 OPEN_TREE_CLONE | AT_RECURSIVE));
	try("move_mount",
	    syscall(SYS_move_mount, tree, "", AT_FDCWD, "/mnt", MOVE_MOUNT_F_EMPTY_PATH));
	int fs = (int)try("fsopen", syscall(SYS_fsopen, "tmpfs", 0));
	try("fsconfig", syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0));
	try("fsmount", syscall(SYS_fsmount, fs, 0, 0));
	try("fspick", syscall(SYS_fspick, AT_FDCWD, place, 0));
	try("pivot_root", syscall(SYS_pivot_root, ".", "."));
}

int main(int argc, char **argv)
{
	char path[512];
	const char *place = argc > 1 ? argv[1] : "/";

	if (argc > 2) {
		try("unshare", unshare(CLONE_NEWUSER | CLONE_NEWNS));
	}
	old_calls(place);
	new_calls(place);
	snprintf(path, sizeof(path), "%s/brig-attack", place);
	try("write", open(path, O_WRONLY | O_CREAT, 0644));
}
