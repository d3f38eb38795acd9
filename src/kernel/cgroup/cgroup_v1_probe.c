/* SPDX-License-Identifier: Apache-2.0 */
/* Detects cgroup v1: this process's own directory in each hierarchy that is needed. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/cgroup/cgroup_internal.h"

/* memory comes first: making it is slowest and most likely to fail. */
static const struct {
	const char *name;
	unsigned bit;
	layer_set layer;
} controllers[] = {
	{ "memory", CGROUP_MEMORY, LAYER_BIT(LAYER_CGROUP_MEMORY) },
	{ "pids", CGROUP_PIDS, LAYER_BIT(LAYER_CGROUP_PIDS) },
	{ "cpu", CGROUP_CPU, LAYER_BIT(LAYER_CGROUP_CPU) },
	{ "cpuacct", CGROUP_CPUACCT, 0 },
};

/* The mount of a controller: some hosts have the pair without the links to it. */
static int open_mount(const struct cgroup_facts *facts, const char *name)
{
	static const char *const pairs[] = { "cpu,cpuacct", "cpuacct,cpu" };
	int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
	int fd = openat(facts->root_fd, name, flags);

	for (size_t i = 0; fd < 0 && i < ARRAY_SIZE(pairs) && strncmp(name, "cpu", 3) == 0; i++) {
		fd = openat(facts->root_fd, pairs[i], flags);
	}
	return fd < 0 ? -errno : fd;
}

/*
 * The warden is in a group of its own above its cells' groups, but not in the cpu hierarchy
 * (cgroup_delegate.c): there that group is below, under the same name.
 */
static void add_warden(const char *self, char *own, size_t size)
{
	char other[CGROUP_TEXT_MAX];
	const char *base = NULL;

	if (cgroup_self_path(self, "pids", other, sizeof(other)) ||
	    cgroup_self_path(self, "memory", other, sizeof(other))) {
		base = strrchr(other, '/');
		base = base ? base + 1 : other;
	}
	size_t used = strlen(own), more = base ? strlen(base) : 0;
	if (more && cgroup_name_is_delegated(base) && !strstr(own, base) &&
	    used + 1 + more < size) {
		own[used] = '/';
		memcpy(own + used + (used > 0), base, more + 1);
	}
}

/* This process's own directory in the hierarchy; the mount's root when a container hides it. */
static int open_own(const struct cgroup_facts *facts, const char *name, struct buf *where)
{
	char own[CGROUP_TEXT_MAX];
	bool hidden;
	int fd = -1;

	if (!cgroup_self_path(facts->self, name, own, sizeof(own))) {
		return -ENODEV;
	}
	add_warden(facts->self, own, sizeof(own));
	hidden = *own == '\0' || strncmp(own, "..", 2) == 0;
	if (!hidden) {
		_cleanup_close_ int mount = open_mount(facts, name);
		fd = openat(mount, own, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	}
	if (fd < 0) {
		hidden = true;
		fd = open_mount(facts, name);
	}
	if (fd >= 0) {
		buf_addf(where, "%s%s/%s%s%s", where->size ? " " : "", facts->root, name,
			 hidden ? "" : "/", hidden ? "" : own);
	}
	return fd;
}

/* Root's own directories need no check by the kernel: this is on every run's path. */
static int check_directory(const struct cgroup_facts *facts, int fd, dev_t *ret_device)
{
	struct statfs fs;
	struct stat st;

	if (fstatfs(fd, &fs) < 0 || fstat(fd, &st) < 0) {
		return -errno;
	}
	if (facts->real && fs.f_type != CGROUP_SUPER_MAGIC) {
		return -ENODEV;
	}
	if (fs.f_flags & ST_RDONLY) {
		return -EROFS;
	}
	if ((geteuid() != 0 || st.st_uid != 0) && faccessat(fd, ".", W_OK, AT_EACCESS) < 0) {
		return -errno;
	}
	*ret_device = facts->real ? st.st_dev : st.st_ino; /* a fake tree is all on one device */
	return 0;
}

/* cpu and cpuacct may be one hierarchy under two names. */
static int add_tree(struct cgroup_manager *manager, const struct cgroup_facts *facts,
		    const char *name, unsigned bit, struct buf *where)
{
	_cleanup_close_ int fd = open_own(facts, name, where);
	dev_t device = 0;
	int r = fd < 0 ? fd : check_directory(facts, fd, &device);

	if (r < 0) {
		return r;
	}
	for (size_t i = 0; i < manager->tree_count; i++) {
		if (manager->trees[i].device == device) {
			manager->trees[i].controllers |= bit;
			return 0;
		}
	}
	manager->trees[manager->tree_count++] = (struct cgroup_tree){
		.fd = TAKE_FD(fd), .controllers = bit, .prefix = "", .device = device
	};
	return 0;
}

int cgroup_v1_probe(struct cgroup_manager *manager, const struct cgroup_facts *facts,
		    struct buf *why)
{
	struct buf where = { 0 };
	layer_set layers = 0;

	for (size_t i = 0; i < ARRAY_SIZE(controllers); i++) {
		int r = add_tree(manager, facts, controllers[i].name, controllers[i].bit, &where);

		if (r == 0) {
			layers |= controllers[i].layer;
		} else {
			buf_addf(why, "%scgroup v1 %s: %s", why->size ? "; " : "",
				 controllers[i].name,
				 r == -ENOENT || r == -ENODEV ? "not mounted" : strerror(-r));
		}
	}
	if (!(layers & (LAYER_BIT(LAYER_CGROUP_MEMORY) | LAYER_BIT(LAYER_CGROUP_PIDS)))) {
		while (manager->tree_count > 0) {
			close_fd(&manager->trees[--manager->tree_count].fd);
		}
		buf_done(&where);
		return 0;
	}
	manager->where = buf_take(&where);
	manager->layers = layers;
	manager->ops = &cgroup_v1_ops;
	return manager->where ? 1 : -ENOMEM;
}
