/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A group for another user: made by root, used by a process without privileges. That process may
 * write the files that are needed to make groups beneath it and to move processes among them; root
 * keeps the group's own limits.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/cgroup/cgroup_internal.h"

#define PREPARE_TRIES 8

/* Of v2 and of v1; a group has only those of its kind. */
static const char *const given[] = { ".", "cgroup.procs", "cgroup.subtree_control",
				     "cgroup.threads", "tasks" };

static int give(int dir_fd, uid_t user)
{
	for (size_t i = 0; i < ARRAY_SIZE(given); i++) {
		if (fchownat(dir_fd, given[i], user, user, AT_SYMLINK_NOFOLLOW) < 0 &&
		    errno != ENOENT) {
			return -errno;
		}
	}
	return 0;
}

static int make_directory(int tree_fd, const char *path)
{
	if (mkdirat(tree_fd, path, 0755) < 0 && errno != EEXIST) {
		return -errno;
	}
	int fd = openat(tree_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}

/* The path to it leads through root's parent of all groups, made with any umask. */
static int open_parent(const struct cgroup_tree *tree)
{
	return *tree->prefix && fchmodat(tree->fd, tree->prefix, 0755, 0) < 0 ? -errno : 0;
}

/* v2 passes controllers on only from groups without processes: so the process lives in a leaf. */
static int make_leaf(int dir_fd, unsigned controllers, uid_t user)
{
	int r = cgroup_v2_enable(dir_fd, controllers);

	if (r < 0) {
		return r;
	}
	_cleanup_close_ int leaf = make_directory(dir_fd, CGROUP_LEAF);
	r = leaf < 0 ? leaf : give(leaf, user);
	return r < 0 ? r : TAKE_FD(leaf);
}

/*
 * The warden must not wait for the processor behind its own cells. On v2 its leaf has more weight
 * than all of them; on v1 it stays in its group, next to their parent.
 */
#define LEAF_WEIGHT "10000" /* where that of a group is 100 */

static bool holds_the_filler(const struct cgroup_tree *tree)
{
	return tree->controllers & ~(CGROUP_CPU | CGROUP_CPUACCT);
}

static int delegate_tree(const struct cgroup_manager *manager, size_t tree, const char *path,
			 uid_t user, pid_t pid)
{
	const struct cgroup_tree *where = &manager->trees[tree];
	_cleanup_close_ int dir = make_directory(where->fd, path);

	if (dir < 0) {
		return dir;
	}
	int r = open_parent(where);
	if (r < 0) {
		return r;
	}
	r = give(dir, user);
	if (r < 0) {
		return r;
	}
	if (strcmp(manager->ops->means, "cgroup2") == 0) {
		int leaf = make_leaf(dir, where->controllers, user);
		if (leaf < 0) {
			return leaf;
		}
		(void)cgroup_file_write(leaf, "cpu.weight", LEAF_WEIGHT); /* if the kernel has it */
		close_fd(&dir);
		dir = leaf;
	}
	return holds_the_filler(where) ? cgroup_file_write_u64(dir, "cgroup.procs", (uint64_t)pid)
				       : 0;
}

static int path_of(struct cgroup_manager *manager, size_t tree, char path[CGROUP_PATH_MAX])
{
	char name[CGROUP_NAME_MAX];
	int r = cgroup_name_make(manager, CGROUP_DELEGATED, name);

	snprintf(path, CGROUP_PATH_MAX, "%s%s", manager->trees[tree].prefix, r < 0 ? "" : name);
	return r;
}

int cgroup_delegate(struct cgroup_manager *manager, uid_t user, pid_t pid)
{
	char path[CGROUP_PATH_MAX];
	int r = 0;

	/* Another brig may remove the common parent meanwhile; then the result is EAGAIN. */
	for (int tries = 0; tries < PREPARE_TRIES; tries++) {
		if (strcmp(manager->ops->means, "cgroup2") == 0) {
			r = cgroup_v2_prepare(manager, manager->trees[0].controllers, NULL);
		}
		if (r != -EAGAIN) {
			break;
		}
	}
	if (r < 0) {
		return r;
	}
	for (size_t i = 0; i < manager->tree_count; i++) {
		r = path_of(manager, i, path);
		r = r < 0 ? r : delegate_tree(manager, i, path, user, pid);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

bool cgroup_delegate_remove(struct cgroup_manager *manager)
{
	bool gone = true;

	for (size_t i = 0; i < manager->tree_count; i++) {
		char path[CGROUP_PATH_MAX];
		if (path_of(manager, i, path) < 0) {
			return false;
		}
		if (unlinkat(manager->trees[i].fd, path, AT_REMOVEDIR) < 0 && errno != ENOENT) {
			cgroup_remove_inner(manager->trees[i].fd, path, false);
			gone &= unlinkat(manager->trees[i].fd, path, AT_REMOVEDIR) == 0;
		}
	}
	return gone;
}
