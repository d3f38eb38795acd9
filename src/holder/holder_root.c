/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The holder's file system: a tmpfs with the host's own directories bound into it, and brig's
 * directory beside them. Only async-signal-safe calls: the holder is a clone of the host program.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/write_all.h"
#include "framed/agent_image.h"
#include "holder/holder.h"
#include "kernel/nolinks.h"
#include "kernel/sys.h"
#include "kernel/tmpfs.h"

/* "a/b", without stdio. -ENAMETOOLONG: it does not fit. */
int holder_join_path(char path[HOLDER_PATH_MAX], const char *a, const char *b)
{
	size_t first = strlen(a), second = strlen(b);

	if (first + second + 2 > HOLDER_PATH_MAX) {
		return -ENAMETOOLONG;
	}
	char *end = stpcpy(path, a);
	*end = '/';
	stpcpy(end + 1, b);
	return 0;
}

int holder_make_dir(const char *path, mode_t mode)
{
	return mkdir(path, mode) < 0 && errno != EEXIST ? -errno : 0;
}

int holder_make_file(const char *path, const void *data, size_t size, mode_t mode)
{
	_cleanup_close_ int fd =
		open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);

	if (fd < 0) {
		return -errno;
	}
	return write_all(fd, data, size);
}

static int attach(int tree, const char *path)
{
	return sys_move_mount(tree, "", AT_FDCWD, path, MOVE_MOUNT_F_EMPTY_PATH);
}

/* On top of "/": paths of the host are still resolved beneath it, so it hides nothing. */
static int make_root(void)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) {
		return -errno;
	}
	_cleanup_close_ int root = tmpfs_new("16m", "4096", "0755");
	if (root < 0) {
		return root;
	}
	int r = attach(root, "/");
	return r < 0 ? r : fchdir(root) < 0 ? -errno : 0;
}

/* A directory, and those above it. */
static int make_path(const char *name)
{
	char path[sizeof(((struct holder_top *)NULL)->name)];
	int r = 0;

	for (size_t i = 0; r == 0 && i < sizeof(path); i++) {
		path[i] = '\0';
		r = i && (name[i] == '/' || !name[i]) ? holder_make_dir(path, 0755) : 0;
		if (!name[i]) {
			break;
		}
		path[i] = name[i];
	}
	return r;
}

static int bind_top(const struct holder_top *top)
{
	char path[HOLDER_PATH_MAX];

	if (top->target[0]) {
		return symlink(top->target, top->name) < 0 ? -errno : 0;
	}
	int r = make_path(top->name);
	r = r < 0 ? r : holder_join_path(path, "", top->name);
	if (r < 0) {
		return r;
	}
	_cleanup_close_ int tree = sys_open_tree(AT_FDCWD, path,
						 OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
							 AT_RECURSIVE | AT_SYMLINK_NOFOLLOW);
	/* Here already: an OCI runtime's "ro" is not recursive. */
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID,
				   .propagation = MS_PRIVATE };
	r = tree < 0 ? tree : sys_mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr);
	return r < 0 ? r : attach(tree, top->name);
}

/*
 * crun 1.8 refuses a host with both versions of cgroups, if the second one has any controller
 * ("cgroups in hybrid mode not supported"): then it does not see the second one.
 */
static int hide_unified(void)
{
	if (mount("brig", "sys/fs/cgroup/unified", "tmpfs",
		  MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=4k") < 0) {
		return errno == ENOENT ? 0 : -errno;
	}
	return 0;
}

static int bind_host(const struct holder_start *start)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < start->tops_count; i++) {
		r = bind_top(&start->tops[i]);
	}
	r = r < 0 ? r : holder_make_dir("proc", 0555);
	if (r == 0 && mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0) {
		r = -errno;
	}
	return r < 0 ? r : hide_unified();
}

/* --- the cell's root -------------------------------------------------------------------------- */

static bool begins(const char *path, const char *with)
{
	return strncmp(path, with, strlen(with)) == 0;
}

/* The path of a part of the root; NULL: the step is something else. */
static const char *part_of(const struct step *step)
{
	switch (step->kind) {
	case STEP_DIR:
		return step->dir.target;
	case STEP_LINK:
		return step->link.path;
	case STEP_FILE:
		return step->file.target;
	default:
		return NULL; /* mounts are the tool's */
	}
}

static int make_part(const struct step *step)
{
	char path[HOLDER_PATH_MAX];
	const char *part = part_of(step);

	/* The tool makes /dev; /sandbox is on another tmpfs. */
	if (!part || begins(part, "dev/") || begins(part, "sandbox/")) {
		return 0;
	}
	int r = holder_join_path(path, HOLDER_ROOT, part);
	if (r < 0) {
		return r;
	}
	if (step->kind == STEP_LINK) {
		return symlink(step->link.to, path) < 0 ? -errno : 0;
	}
	return step->kind == STEP_DIR
		       ? holder_make_dir(path, step->dir.mode)
		       : holder_make_file(path, step->file.data, step->file.size, step->file.mode);
}

static int make_dirs(void)
{
	static const char *const dirs[] = { HOLDER_DIR,    HOLDER_ROOT,  HOLDER_WORK,  HOLDER_EMPTY,
					    HOLDER_MOUNTS, HOLDER_STATE, HOLDER_BUNDLE };
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(dirs); i++) {
		r = holder_make_dir(dirs[i], 0755);
	}
	return r;
}

static int make_skeleton(const struct holder_start *start)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < start->plan->count; i++) {
		r = make_part(&start->plan->steps[i]);
	}
	if (r == 0) {
		r = holder_make_file(HOLDER_ROOT "/" HOLDER_AGENT, agent_image, agent_image_size,
				     0555);
	}
	return r < 0 || !start->bundle ? r
				       : holder_make_file(HOLDER_BUNDLE "/config.json",
							  start->bundle, start->bundle_size, 0444);
}

/* A clone of a shared mount is its peer, until it is told otherwise. */
int holder_attach(int tree, const char *path, uint64_t attributes)
{
	struct mount_attr attr = { .attr_set = attributes | MOUNT_ATTR_NOSUID,
				   .propagation = MS_PRIVATE };
	int r = sys_mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr);

	return r < 0 ? r : attach(tree, path);
}

/* Here already: crun 1.8 ignores "noexec" on a bind that can be written. */
static int forbid_exec(const char *path)
{
	_cleanup_close_ int tree =
		sys_open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	return tree < 0 ? tree : holder_attach(tree, path, MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
}

/* The three places that the program can write to: on one tmpfs, so that one limit covers them. */
static int make_work(const struct holder_start *start)
{
	static const struct {
		const char *path;
		mode_t mode;
		bool place; /* that the tool binds */
		bool exec;  /* if the policy allows it */
	} dirs[] = { { HOLDER_WORK "/sandbox", 0700, true, true },
		     { HOLDER_WORK "/sandbox/out", 0700, false, false },
		     { HOLDER_WORK "/tmp", 01777, true, true },
		     { HOLDER_WORK "/shm", 01777, true, false } };
	_cleanup_close_ int work = tmpfs_new(start->work_size, start->work_inodes, "0755");
	int r = work < 0 ? work : attach(work, HOLDER_WORK);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(dirs); i++) {
		r = holder_make_dir(dirs[i].path, dirs[i].mode);
		if (r == 0 && chown(dirs[i].path, start->owner, start->owner) < 0) {
			r = -errno;
		}
	}
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(dirs); i++) {
		if (dirs[i].place && !(dirs[i].exec && start->spec->exec_writable)) {
			r = forbid_exec(dirs[i].path);
		}
	}
	return r;
}

/* The caller's directories: id-mapped by the warden, or looked up again in our copy of the tree. */
static int make_mount(const struct step *step)
{
	char path[HOLDER_PATH_MAX];
	int r = holder_join_path(path, HOLDER_MOUNTS, step->mount.target + strlen("mnt/"));

	r = r < 0 ? r : holder_make_dir(path, 0755);
	if (r < 0) {
		return r;
	}
	if (step->mount.cloned) {
		return holder_attach(step->mount.fd, path,
				     step->mount.attributes | MOUNT_ATTR_NODEV);
	}
	_cleanup_close_ int fd = reopen_without_links(step->mount.fd, step->mount.source);
	if (fd < 0) {
		return fd;
	}
	_cleanup_close_ int tree =
		sys_open_tree(fd, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	return tree < 0 ? tree
			: holder_attach(tree, path, step->mount.attributes | MOUNT_ATTR_NODEV);
}

/* Mounted for reading only: its sockets cannot be reached through an overlay. */
static int cover_mount(const struct holder_start *start, const struct step *step)
{
	char path[HOLDER_PATH_MAX];

	if (!(step->mount.attributes & MOUNT_ATTR_RDONLY)) {
		return 0;
	}
	int r = holder_join_path(path, HOLDER_MOUNTS, step->mount.target + strlen("mnt/"));
	return r < 0 ? r : holder_overlay(start, path);
}

static int make_mounts(const struct holder_start *start, enum holder_step *step)
{
	int r = 0;

	for (unsigned i = 0; r == 0 && i < start->plan->count; i++) {
		if (start->plan->steps[i].kind != STEP_MOUNT) {
			continue;
		}
		*step = HOLDER_STEP_MOUNT;
		r = make_mount(&start->plan->steps[i]);
		if (r == 0) {
			*step = HOLDER_STEP_OVERLAY;
			r = cover_mount(start, &start->plan->steps[i]);
		}
	}
	return r;
}

/*
 * A tool with a kernel of its own shows its programs what it reads here. It may mount another /proc
 * in namespaces of its own, which the kernel refuses where no uncovered one is mounted: hence two.
 */
static int hide_memory(const struct holder_start *start)
{
	static const char file[] = HOLDER_DIR "/meminfo", whole[] = HOLDER_DIR "/proc";

	int r = holder_make_file(file, start->meminfo, strlen(start->meminfo), 0444);
	r = r < 0 ? r : holder_make_dir(whole, 0555);
	if (r < 0) {
		return r;
	}
	if (mount("proc", whole, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0 ||
	    mount(file, "proc/meminfo", NULL, MS_BIND, NULL) < 0) {
		return -errno;
	}
	return 0;
}

/*
 * runsc of 2022 makes the root read-only in a user namespace of its own, without the flags that it
 * has: the kernel refuses to clear them there. There is nothing in it that they would stop.
 */
static int clear_root_flags(void)
{
	struct mount_attr attr = { .attr_clr = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
				   .propagation = MS_PRIVATE };
	_cleanup_close_ int tree =
		sys_open_tree(AT_FDCWD, HOLDER_ROOT, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	int r = tree < 0 ? tree : sys_mount_setattr(tree, "", AT_EMPTY_PATH, &attr);

	return r < 0 ? r : attach(tree, HOLDER_ROOT);
}

/* For a tool with a kernel of its own. */
static int prepare_kernel(const struct holder_start *start)
{
	int r = start->emulated ? hide_memory(start) : 0;

	return r < 0 || !start->emulated ? r : clear_root_flags();
}

static int enter_root(void)
{
	/* "." twice: the old root is stacked on the new one, then unmounted. */
	int r = sys_pivot_root(".", ".");

	if (r < 0) {
		return r;
	}
	if (umount2(".", MNT_DETACH) < 0) {
		return -errno;
	}
	return chdir("/") < 0 ? -errno : 0;
}

int holder_root(const struct holder_start *start, enum holder_step *step)
{
	*step = HOLDER_STEP_ROOT;
	int r = make_root();
	r = r < 0 ? r : make_dirs();
	/* Before the overlays: they are looked up again on the host's own tree. */
	r = r < 0 ? r : make_mounts(start, step);
	if (r < 0) {
		return r;
	}
	*step = HOLDER_STEP_OVERLAY;
	r = holder_overlay_host(start);
	if (r < 0) {
		return r;
	}
	*step = HOLDER_STEP_ROOT;
	r = bind_host(start);
	if (r < 0) {
		return r;
	}
	*step = HOLDER_STEP_SKELETON;
	r = make_skeleton(start);
	if (r < 0) {
		return r;
	}
	*step = HOLDER_STEP_WORK;
	r = make_work(start);
	if (r < 0) {
		return r;
	}
	*step = HOLDER_STEP_ROOT;
	r = start->whole ? holder_whole(start) : prepare_kernel(start);
	r = r < 0 ? r : holder_confined_root(start);
	return r < 0 ? r : enter_root();
}
