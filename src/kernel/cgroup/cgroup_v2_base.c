/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup v2: finds the directory in which groups may be made, and prepares it.
 *
 * The rules (Documentation/admin-guide/cgroup-v2.rst, "Delegation"; systemd's CGROUP_DELEGATION): a
 * manager (systemd) owns the tree; only a delegated subtree may be changed. A directory counts as
 * delegated when systemd says so, in an attribute or when asked, when it is where ownership changes
 * from another user to ours, or when it is the root of a cgroup namespace. Write permission is not
 * enough: all groups of a user's own systemd are writable, and it would disable our controllers
 * again.
 *
 * Root without a delegated subtree makes /sys/fs/cgroup/brig.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/cgroup/cgroup_internal.h"

#define PARENT      "brig"
#define MOVE_PASSES 16
#define NEEDED      (CGROUP_MEMORY | CGROUP_PIDS)

static const struct {
	const char *name;
	const char *enable;
	unsigned bit;
	layer_set layer;
} controllers[] = {
	{ "memory", "+memory", CGROUP_MEMORY, LAYER_BIT(LAYER_CGROUP_MEMORY) },
	{ "pids", "+pids", CGROUP_PIDS, LAYER_BIT(LAYER_CGROUP_PIDS) },
	{ "cpu", "+cpu", CGROUP_CPU, LAYER_BIT(LAYER_CGROUP_CPU) },
};

unsigned cgroup_v2_controllers(int dir_fd, const char *path)
{
	char text[512];
	unsigned bits = 0;

	if (cgroup_file_read(dir_fd, path, text, sizeof(text)) <= 0) {
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(controllers); i++) {
		bits |= cgroup_text_word(text, controllers[i].name) ? controllers[i].bit : 0;
	}
	return bits;
}

layer_set cgroup_v2_layers(unsigned bits)
{
	layer_set layers = 0;

	for (size_t i = 0; i < ARRAY_SIZE(controllers); i++) {
		layers |= bits & controllers[i].bit ? controllers[i].layer : 0;
	}
	return layers;
}

int cgroup_v2_mount(const struct cgroup_facts *facts, const char **ret_name)
{
	static const char *const names[] = { ".", "unified" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_close_ int fd =
			openat(facts->root_fd, names[i], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		struct statfs fs;

		if (fd < 0 || faccessat(fd, "cgroup.controllers", F_OK, 0) < 0) {
			continue;
		}
		if (facts->real && (fstatfs(fd, &fs) < 0 || fs.f_type != CGROUP2_SUPER_MAGIC)) {
			continue;
		}
		*ret_name = i == 0 ? "" : "/unified";
		return TAKE_FD(fd);
	}
	return -ENOENT;
}

/* The loop over cgroup.procs that moving and checking share. `each` returns 0 or -errno. */
static int for_each_process(int dir_fd, int (*each)(int leaf_fd, const char *pid), int leaf_fd)
{
	static const size_t size = 64 * 1024;
	_cleanup_free_ char *text = malloc(size);
	char *save = NULL;
	int count = 0;
	ssize_t n;

	if (!text) {
		return -ENOMEM;
	}
	n = cgroup_file_read(dir_fd, "cgroup.procs", text, size);
	if (n < 0) {
		return (int)n;
	}
	for (char *pid = strtok_r(text, "\n", &save); pid; pid = strtok_r(NULL, "\n", &save)) {
		int r = each(leaf_fd, pid);

		if (r < 0) {
			return r;
		}
		count++;
	}
	return count;
}

static int check_ours(int unused, const char *pid)
{
	char path[32];
	struct stat st;

	(void)unused;
	/* "0" is a process that our pid namespace cannot see: not ours. */
	if (strcmp(pid, "0") == 0 || snprintf(path, sizeof(path), "/proc/%s", pid) >= 32) {
		return -EPERM;
	}
	if (stat(path, &st) < 0) {
		return errno == ENOENT ? 0 : -errno;
	}
	/* Some roles of a service have other ids: in a group delegated to root all are its own. */
	return geteuid() == 0 || st.st_uid == geteuid() ? 0 : -EPERM;
}

static int move_process(int leaf_fd, const char *pid)
{
	int r = check_ours(-1, pid);

	r = r < 0 ? r : cgroup_file_write(leaf_fd, "cgroup.procs", pid);
	return r == -ESRCH ? 0 : r;
}

/* "No internal processes": a group with processes cannot pass controllers on to its children. */
static int evacuate(int base_fd)
{
	_cleanup_close_ int leaf = -1;

	if (mkdirat(base_fd, CGROUP_LEAF, 0755) < 0 && errno != EEXIST) {
		return -errno;
	}
	leaf = openat(base_fd, CGROUP_LEAF, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (leaf < 0) {
		return -errno;
	}
	for (int pass = 0; pass < MOVE_PASSES; pass++) {
		int r = for_each_process(base_fd, move_process, leaf);

		if (r <= 0) {
			return r;
		}
	}
	return -EBUSY;
}

int cgroup_v2_enable(int dir_fd, unsigned wanted)
{
	unsigned on = cgroup_v2_controllers(dir_fd, "cgroup.subtree_control");
	unsigned offered;

	if ((on & wanted) == wanted) {
		return 0;
	}
	offered = cgroup_v2_controllers(dir_fd, "cgroup.controllers");
	for (size_t i = 0; i < ARRAY_SIZE(controllers); i++) {
		int r;

		if (on & controllers[i].bit || !(wanted & controllers[i].bit)) {
			continue;
		}
		if (!(offered & controllers[i].bit)) {
			return -ENODEV;
		}
		r = cgroup_file_write(dir_fd, "cgroup.subtree_control", controllers[i].enable);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

/*
 * A user's processes that prevent this are moved to a leaf next to the cells, once per delegated
 * scope.
 */
static int prepare_delegated(int base_fd, unsigned wanted)
{
	int r = cgroup_v2_enable(base_fd, wanted);

	if (r != -EBUSY) {
		return r;
	}
	r = evacuate(base_fd);
	return r < 0 ? r : cgroup_v2_enable(base_fd, wanted);
}

/* Another brig may remove the parent at any time, so this may have to be repeated. */
static int prepare_parent(int mount_fd, unsigned wanted)
{
	_cleanup_close_ int fd = -1;
	int r = cgroup_v2_enable(mount_fd, wanted);

	if (r < 0) {
		return r;
	}
	if (mkdirat(mount_fd, PARENT, 0755) < 0 && errno != EEXIST) {
		return -errno;
	}
	fd = openat(mount_fd, PARENT, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0) {
		return errno == ENOENT ? -EAGAIN : -errno;
	}
	r = cgroup_v2_enable(fd, wanted);
	/* Removed meanwhile: its files are gone (ENODEV, ENOENT). */
	return r == -ENODEV || r == -ENOENT ? -EAGAIN : r;
}

int cgroup_v2_prepare(struct cgroup_manager *manager, unsigned wanted, struct brig_error *err)
{
	const struct cgroup_tree *tree = &manager->trees[0];
	int r = *tree->prefix ? prepare_parent(tree->fd, wanted)
			      : prepare_delegated(tree->fd, wanted);

	if (r < 0 && r != -EAGAIN) {
		error_errno(err, BRIG_E_HOST, -r, "cgroup v2: cannot enable controllers in %s",
			    manager->where);
		error_remedy(err, "run brig in a scope of its own: "
				  "systemd-run --user --scope -p Delegate=yes brig ...");
	}
	manager->prepared = r == 0 ? wanted : 0;
	return r;
}

static bool attribute_set(int fd, const char *name)
{
	char value[8];

	return fgetxattr(fd, name, value, sizeof(value)) == 1 && value[0] == '1';
}

/* A candidate: a directory, its path in the tree, and how it was found. */
struct candidate {
	int fd;
	const char *path; /* "" is the root of our cgroup namespace */
	bool over_leaf;   /* its child that we are in is a leaf that an earlier brig made */
	bool may_ask;     /* systemd */
};

static bool delegated(struct cgroup_manager *manager, const struct candidate *place)
{
	struct stat st, parent;

	if (*place->path == '\0' || attribute_set(place->fd, "user.delegate") ||
	    attribute_set(place->fd, "trusted.delegate")) {
		return true;
	}
	if (fstat(place->fd, &st) < 0 || st.st_uid != geteuid() ||
	    (geteuid() == 0 && !place->over_leaf)) {
		return false;
	}
	if (place->over_leaf ||
	    (fstatat(place->fd, "..", &parent, 0) == 0 && parent.st_uid != geteuid())) {
		return true;
	}
	return place->may_ask && cgroup_systemd_delegates(manager, place->path);
}

/* Can groups with memory and pids limits be made in it? Returns the obstacle. */
static const char *unusable(struct cgroup_manager *manager, const struct candidate *place,
			    unsigned *ret_controllers)
{
	static const char *const files[] = { ".", "cgroup.procs", "cgroup.subtree_control" };
	unsigned offered;
	int fd = place->fd;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		if (faccessat(fd, files[i], W_OK, AT_EACCESS) < 0) {
			return errno == EROFS ? "is mounted read-only"
					      : "is not writable by this user";
		}
	}
	if (!delegated(manager, place)) {
		return "is not delegated to this user";
	}
	offered = cgroup_v2_controllers(fd, "cgroup.controllers");
	if ((offered & NEEDED) != NEEDED) {
		return "is delegated without the memory and pids controllers";
	}
	if ((cgroup_v2_controllers(fd, "cgroup.subtree_control") & NEEDED) != NEEDED &&
	    for_each_process(fd, check_ours, -1) < 0) {
		return "holds processes of other users";
	}
	*ret_controllers = offered;
	return NULL;
}

static int take(struct cgroup_manager *manager, int fd, unsigned bits, const char *prefix,
		char *where)
{
	manager->trees[0] = (struct cgroup_tree){ .fd = fd, .controllers = bits, .prefix = prefix };
	manager->tree_count = 1;
	manager->where = where;
	manager->layers = cgroup_v2_layers(bits);
	return where ? 1 : -ENOMEM;
}

/* Our own group, or the one above it: then ours is a leaf that systemd or an earlier brig made. */
static int take_delegated(struct cgroup_manager *manager, const struct cgroup_facts *facts,
			  int mount_fd, const char *mount_name, const char **obstacle)
{
	char own[CGROUP_TEXT_MAX];
	bool real_root = faccessat(mount_fd, "cgroup.type", F_OK, 0) < 0;

	if (!cgroup_self_path(facts->self, "", own, sizeof(own)) || strncmp(own, "..", 2) == 0) {
		own[0] = '\0';
	}
	for (int up = 0; up < 2; up++) {
		_cleanup_close_ int fd = -1;
		bool over_leaf = false;
		unsigned bits = 0;
		const char *found;

		if (up == 1) {
			char *slash = strrchr(own, '/');
			const char *base = slash ? slash + 1 : own;

			/* The siblings of init.scope are units of a systemd, not leaves of ours. */
			if (*own == '\0' || strcmp(base, "init.scope") == 0) {
				return 0;
			}
			over_leaf = strcmp(base, CGROUP_LEAF) == 0;
			*(slash ? slash : own) = '\0';
		}
		if (*own == '\0' && real_root) {
			return 0;
		}
		fd = openat(mount_fd, *own ? own : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		found = fd < 0 ? "is not visible"
			       : unusable(manager,
					  &(struct candidate){ fd, own, over_leaf,
							       !facts->no_systemd },
					  &bits);
		if (!found) {
			struct buf where = { 0 };

			buf_addf(&where, "%s%s%s%s", facts->root, mount_name, *own ? "/" : "", own);
			return take(manager, TAKE_FD(fd), bits, "", buf_take(&where));
		}
		*obstacle = up == 0 ? found : *obstacle;
	}
	return 0;
}

static bool bound_to_v1(const char *self, const char *controller)
{
	char path[CGROUP_TEXT_MAX];

	return cgroup_self_path(self, controller, path, sizeof(path));
}

int cgroup_v2_base(struct cgroup_manager *manager, const struct cgroup_facts *facts,
		   struct buf *why)
{
	const char *name, *obstacle = "this user may not make groups in it";
	_cleanup_close_ int mount = -1;
	unsigned offered;
	int r;

	/* A controller is in one hierarchy only: these two need not be searched in v2. */
	if (bound_to_v1(facts->self, "memory") && bound_to_v1(facts->self, "pids")) {
		buf_addf(why, "%scgroup v2: memory and pids belong to v1 on this host",
			 why->size ? "; " : "");
		return 0;
	}
	mount = cgroup_v2_mount(facts, &name);
	if (mount < 0) {
		buf_addf(why, "%scgroup v2: not mounted at %s", why->size ? "; " : "", facts->root);
		return 0;
	}
	offered = cgroup_v2_controllers(mount, "cgroup.controllers");
	if ((offered & NEEDED) != NEEDED) {
		buf_addf(why, "%scgroup v2: %s%s has no memory and pids controllers",
			 why->size ? "; " : "", facts->root, name);
		return 0;
	}
	r = take_delegated(manager, facts, mount, name, &obstacle);
	if (r != 0) {
		return r;
	}
	if (geteuid() == 0 && faccessat(mount, "cgroup.type", F_OK, 0) < 0 &&
	    faccessat(mount, "cgroup.subtree_control", W_OK, AT_EACCESS) == 0) {
		struct buf where = { 0 };

		buf_addf(&where, "%s%s/" PARENT, facts->root, name);
		return take(manager, TAKE_FD(mount), offered, PARENT "/", buf_take(&where));
	}
	buf_addf(why, "%scgroup v2: own group %s", why->size ? "; " : "", obstacle);
	return 0;
}
