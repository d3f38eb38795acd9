/* SPDX-License-Identifier: Apache-2.0 */
/* Tries the mounts of a cell's root, in a mount namespace that ends with the child. */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/probe/probe_internal.h"
#include "kernel/sys.h"

/* A directory that every host has, and that most runtimes use. */
#define SHARED "/usr"

int probe_private(const struct probe_attempt *attempt, struct probe_note *note)
{
	(void)attempt;
	return probe_step(note, "make the mounts private",
			  mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ? -errno : 0);
}

static int configure_root(struct probe_note *note, int fs)
{
	static const struct {
		const char *step, *key, *value;
		unsigned command;
	} settings[] = {
		{ "fsconfig tmpfs size", "size", "1048576", FSCONFIG_SET_STRING },
		{ "fsconfig tmpfs nr_inodes", "nr_inodes", "64", FSCONFIG_SET_STRING },
		{ "fsconfig tmpfs", NULL, NULL, FSCONFIG_CMD_CREATE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(settings); i++) {
		int r = probe_step(
			note, settings[i].step,
			sys_fsconfig(fs, settings[i].command, settings[i].key, settings[i].value));
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

/* Like step "mount.root": on top of "/", and the working directory. Returns its fd, or -errno. */
static int make_root(struct probe_note *note)
{
	int r = probe_private(NULL, note);

	if (r < 0) {
		return r;
	}
	_cleanup_close_ int fs = probe_step(note, "fsopen tmpfs", sys_fsopen("tmpfs"));
	if (fs < 0) {
		return fs;
	}
	r = configure_root(note, fs);
	if (r < 0) {
		return r;
	}
	_cleanup_close_ int root = probe_step(
		note, "fsmount tmpfs", sys_fsmount(fs, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV));
	if (root < 0) {
		return root;
	}
	r = probe_step(note, "move_mount",
		       sys_move_mount(root, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH));
	if (r < 0) {
		return r;
	}
	return fchdir(root) < 0 ? probe_step(note, "fchdir", -errno) : TAKE_FD(root);
}

static int make_dir(struct probe_note *note, const char *path)
{
	return probe_step(note, "mkdir", mkdir(path, 0755) < 0 ? -errno : 0);
}

static int attach(struct probe_note *note, int root, int from_dir, const char *from, const char *to,
		  uint64_t attributes)
{
	struct mount_attr attr = { .attr_set = attributes };
	int r = make_dir(note, to);

	if (r < 0) {
		return r;
	}
	_cleanup_close_ int tree = probe_step(
		note, "open_tree",
		sys_open_tree(from_dir, from,
			      OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW));
	if (tree < 0) {
		return tree;
	}
	r = probe_step(note, "mount_setattr", sys_mount_setattr(tree, "", AT_EMPTY_PATH, &attr));
	if (r < 0) {
		return r;
	}
	return probe_step(note, "move_mount",
			  sys_move_mount(tree, "", root, to, MOVE_MOUNT_F_EMPTY_PATH));
}

static int pivot(struct probe_note *note)
{
	int r = probe_step(note, "pivot_root", sys_pivot_root(".", "."));

	return r < 0 ? r : probe_step(note, "umount", umount2(".", MNT_DETACH) < 0 ? -errno : 0);
}

/* The reason for the second namespace: inside it a read-only mount stays read-only. */
static int check_locked(struct probe_note *note)
{
	struct mount_attr undo = { .attr_clr = MOUNT_ATTR_RDONLY };

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0) {
		return probe_step(note, "second user namespace", -errno);
	}
	return probe_step(note, "the read-only flag is not locked",
			  sys_mount_setattr(AT_FDCWD, "/", 0, &undo) < 0 ? 0 : -ENOLCK);
}

int probe_rootfs(const struct probe_attempt *attempt, struct probe_note *note)
{
	uint64_t attributes = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;
	struct mount_attr lock = { .attr_set = MOUNT_ATTR_RDONLY };
	_cleanup_close_ int root = make_root(note);
	int r = root;

	if (r >= 0) {
		r = attach(note, root, AT_FDCWD, SHARED, "usr", attributes | MOUNT_ATTR_RDONLY);
	}
	if (r >= 0) {
		r = make_dir(note, "sandbox");
	}
	if (r >= 0) {
		r = attach(note, root, root, "sandbox", "tmp", attributes | MOUNT_ATTR_NOEXEC);
	}
	if (r >= 0) {
		r = pivot(note);
	}
	if (r >= 0) {
		r = probe_step(note, "mount_setattr",
			       sys_mount_setattr(root, "", AT_EMPTY_PATH, &lock));
	}
	/* Without user namespaces there is none to lock against; that layer reports it itself. */
	if (r >= 0 && (attempt->namespaces & CLONE_NEWUSER)) {
		r = check_locked(note);
	}
	return r < 0 ? r : 0;
}

int probe_overlay(const struct probe_attempt *attempt, struct probe_note *note)
{
	_cleanup_close_ int root = make_root(note);
	int r = root;

	(void)attempt;
	if (r >= 0) {
		r = make_dir(note, "proc");
	}
	/*
	 * The second lower layer is an empty directory: without an upper one an overlay needs two.
	 */
	if (r >= 0 && mount("brig", SHARED, "overlay", MS_RDONLY | MS_NOSUID | MS_NODEV,
			    "lowerdir=" SHARED ":proc") < 0) {
		r = probe_step(note, "mount overlay", -errno);
	}
	return r < 0 ? r : 0;
}

int probe_proc(const struct probe_attempt *attempt, struct probe_note *note)
{
	_cleanup_close_ int root = make_root(note);
	int r = root;

	(void)attempt;
	if (r >= 0) {
		r = make_dir(note, "proc");
	}
	if (r >= 0 && mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
			    "subset=pid,hidepid=2") < 0) {
		r = probe_step(note, "mount proc subset=pid", -errno);
	}
	return r < 0 ? r : 0;
}
