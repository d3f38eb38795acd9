/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole root of a cell, for tools that only enter it: one directory with all mounts in it,
 * whose flags are brig's own. Only async-signal-safe calls: see holder.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "holder/holder.h"
#include "kernel/sys.h"

/*
 * A mount of the host beneath it is locked in this namespace, and a clone without it is refused
 * (EINVAL): then with it.
 */
static int clone_tree(const char *path)
{
	unsigned flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW;
	int tree = sys_open_tree(AT_FDCWD, path, flags);

	return tree == -EINVAL ? sys_open_tree(AT_FDCWD, path, flags | AT_RECURSIVE) : tree;
}

/* `target` is relative to the root of the cell. */
static int bind_to(const char *source, const char *target, uint64_t attributes)
{
	char path[HOLDER_PATH_MAX];
	int r = holder_join_path(path, HOLDER_ROOT, target);

	if (r < 0) {
		return r;
	}
	_cleanup_close_ int tree = clone_tree(source);
	return tree < 0 ? tree : holder_attach(tree, path, attributes);
}

static int make_devices(void)
{
	static const char *const nodes[] = { "null", "zero", "full", "random", "urandom" };
	static const struct {
		const char *path, *to;
	} links[] = { { HOLDER_ROOT "/dev/fd", "/proc/self/fd" },
		      { HOLDER_ROOT "/dev/stdin", "/proc/self/fd/0" },
		      { HOLDER_ROOT "/dev/stdout", "/proc/self/fd/1" },
		      { HOLDER_ROOT "/dev/stderr", "/proc/self/fd/2" } };
	int r = holder_make_dir(HOLDER_ROOT "/dev", 0755);

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(nodes); i++) {
		char source[HOLDER_PATH_MAX], target[HOLDER_PATH_MAX], path[HOLDER_PATH_MAX];
		r = holder_join_path(source, "/dev", nodes[i]);
		r = r < 0 ? r : holder_join_path(target, "dev", nodes[i]);
		r = r < 0 ? r : holder_join_path(path, HOLDER_ROOT, target);
		r = r < 0 ? r : holder_make_file(path, "", 0, 0444);
		r = r < 0 ? r : bind_to(source, target, MOUNT_ATTR_NOEXEC);
	}
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(links); i++) {
		r = symlink(links[i].to, links[i].path) < 0 ? -errno : 0;
	}
	return r;
}

/* Those places that can be written: with the flags that they already have. */
static int bind_work(void)
{
	static const struct {
		const char *path, *source, *target;
	} places[] = { { HOLDER_ROOT "/sandbox", HOLDER_WORK "/sandbox", "sandbox" },
		       { HOLDER_ROOT "/tmp", HOLDER_WORK "/tmp", "tmp" },
		       { HOLDER_ROOT "/dev/shm", HOLDER_WORK "/shm", "dev/shm" } };
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(places); i++) {
		r = holder_make_dir(places[i].path, 0755);
		r = r < 0 ? r : bind_to(places[i].source, places[i].target, MOUNT_ATTR_NODEV);
	}
	return r;
}

static int bind_step(const struct step *step)
{
	char source[HOLDER_PATH_MAX];

	if (step->kind == STEP_BIND) {
		return bind_to(step->bind.source, step->bind.target,
			       step->bind.attributes | MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV);
	}
	if (step->kind != STEP_MOUNT) {
		return 0;
	}
	int r = holder_join_path(source, HOLDER_MOUNTS, step->mount.target + strlen("mnt/"));
	return r < 0 ? r : bind_to(source, step->mount.target, MOUNT_ATTR_NODEV);
}

int holder_whole(const struct holder_start *start)
{
	struct mount_attr fixed = { .attr_set = MOUNT_ATTR_RDONLY };
	_cleanup_close_ int root = clone_tree(HOLDER_ROOT);
	int r = root < 0 ? root : holder_attach(root, HOLDER_ROOT, MOUNT_ATTR_NODEV);

	r = r < 0 ? r : make_devices();
	for (unsigned i = 0; r == 0 && i < start->plan->count; i++) {
		r = bind_step(&start->plan->steps[i]);
	}
	r = r < 0 ? r : bind_work();
	/* The mount itself, not those in it. */
	return r < 0 ? r : sys_mount_setattr(root, "", AT_EMPTY_PATH, &fixed);
}
