/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A group that somebody else has made for a process: its usage is read, and its limits are looked
 * at. Where it is in both versions, the one with the memory counts.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/cgroup/cgroup_internal.h"

#define ROOT "/sys/fs/cgroup"

static void usage_v1(struct cgroup *cgroup, struct cgroup_usage *usage)
{
	struct cgroup_usage last = cgroup->last;

	cgroup_v1_ops.usage(cgroup, usage);
	cgroup_keep_last(cgroup, &last, usage);
}

static void usage_v2(struct cgroup *cgroup, struct cgroup_usage *usage)
{
	struct cgroup_usage last = cgroup->last;

	cgroup_v2_usage(cgroup, usage);
	cgroup_keep_last(cgroup, &last, usage);
}

static void watch_v1(struct cgroup *cgroup)
{
	cgroup_v1_ops.watch(cgroup);
}

static void clear_v1(struct cgroup *cgroup)
{
	cgroup_v1_ops.event_clear(cgroup);
}

static int attach_none(struct cgroup *cgroup, pid_t pid, struct brig_error *err)
{
	(void)cgroup;
	(void)pid;
	return error_set(err, BRIG_E_SYSTEM, ENOTSUP, "the group is a daemon's");
}

static int create_none(struct cgroup *cgroup, struct brig_error *err)
{
	return attach_none(cgroup, 0, err);
}

static bool kill_none(struct cgroup *cgroup)
{
	(void)cgroup;
	return false;
}

/* The daemon removes it. */
static bool remove_none(struct cgroup *cgroup)
{
	(void)cgroup;
	return true;
}

static const struct cgroup_ops found_v1 = {
	.means = "cgroup1",
	.create = create_none,
	.attach = attach_none,
	.usage = usage_v1,
	.watch = watch_v1,
	.event_clear = clear_v1,
	.kill = kill_none,
	.remove = remove_none,
};

static const struct cgroup_ops found_v2 = {
	.means = "cgroup2",
	.memory_fd_polls = true,
	.create = create_none,
	.attach = attach_none,
	.usage = usage_v2,
	.watch = cgroup_v2_watch,
	.event_clear = cgroup_v2_event_clear,
	.kill = kill_none,
	.remove = remove_none,
};

/* --- where it is ------------------------------------------------------------------------------ */

static const struct {
	const char *name;
	unsigned bit;
} controllers[] = { { "memory", CGROUP_MEMORY },
		    { "pids", CGROUP_PIDS },
		    { "cpu", CGROUP_CPU },
		    { "cpuacct", CGROUP_CPUACCT } };

/* The directory of the group in a hierarchy; "": v2's. -ESRCH: it is not the daemon's. */
static int open_in(const char *text, const char *marker, const char *controller)
{
	char path[CGROUP_TEXT_MAX], whole[CGROUP_TEXT_MAX + 64];

	if (!cgroup_self_path(text, controller, path, sizeof(path))) {
		return -ENOENT;
	}
	if (!strstr(path, marker) || strstr(path, "..")) {
		return -ESRCH;
	}
	snprintf(whole, sizeof(whole), ROOT "%s%s/%s", *controller ? "/" : "", controller, path);
	int fd = open(whole, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int find_v1(const char *text, const char *marker, struct cgroup_manager *manager,
		   struct cgroup *cgroup)
{
	for (size_t i = 0; i < ARRAY_SIZE(controllers); i++) {
		int fd = open_in(text, marker, controllers[i].name);
		if (fd == -ESRCH) {
			return fd;
		}
		if (fd < 0) {
			continue;
		}
		manager->trees[manager->tree_count] = (struct cgroup_tree){
			.fd = fd, .controllers = controllers[i].bit, .prefix = ""
		};
		cgroup->made[manager->tree_count++] = true;
	}
	manager->ops = &found_v1;
	snprintf(cgroup->name, sizeof(cgroup->name), ".");
	return manager->tree_count > 0 ? 0 : -ENOENT;
}

/* Is memory counted there? A hybrid host has it in v1. */
static int find_v2(const char *text, const char *marker, struct cgroup_manager *manager,
		   struct cgroup *cgroup)
{
	uint64_t now;
	int fd = open_in(text, marker, "");

	if (fd < 0 || !cgroup_file_read_u64(fd, "memory.current", &now)) {
		close_fd(&fd);
		return -ENOENT;
	}
	manager->ops = &found_v2;
	cgroup->dir_fd = fd;
	return 0;
}

/* --- its limits ------------------------------------------------------------------------------- */

static int dir_of(const struct cgroup *cgroup, unsigned bit)
{
	const struct cgroup_manager *manager = cgroup->manager;

	for (size_t i = 0; i < manager->tree_count; i++) {
		if (manager->trees[i].controllers == bit) {
			return manager->trees[i].fd;
		}
	}
	return cgroup->dir_fd;
}

/* "max" is no number, and so no limit. */
static bool holds(int dir, const char *file, uint64_t most)
{
	uint64_t value;

	return dir >= 0 && cgroup_file_read_u64(dir, file, &value) && value <= most;
}

/* "QUOTA PERIOD", or "max PERIOD". */
static bool read_share(int dir, uint64_t *quota, uint64_t *period)
{
	char text[64] = "", *end = text;

	if (cgroup_file_read(dir, "cpu.max", text, sizeof(text)) <= 0 || text[0] == 'm') {
		return false;
	}
	*quota = strtoull(text, &end, 10);
	*period = *end == ' ' ? strtoull(end + 1, NULL, 10) : 0;
	return true;
}

static bool cpu_holds(const struct cgroup *cgroup, uint64_t millicores)
{
	int dir = dir_of(cgroup, CGROUP_CPU);
	uint64_t quota = 0, period = 0;

	if (dir < 0) {
		return false;
	}
	if (cgroup->manager->ops == &found_v2) {
		return read_share(dir, &quota, &period) && period > 0 &&
		       quota <= INT64_MAX / 1000 && quota * 1000 <= millicores * period;
	}
	return cgroup_file_read_u64(dir, "cpu.cfs_quota_us", &quota) &&
	       cgroup_file_read_u64(dir, "cpu.cfs_period_us", &period) && period > 0 &&
	       quota < INT64_MAX / 1000 && quota * 1000 <= millicores * period;
}

bool cgroup_memory_holds(int dir, bool v2, bool swaps, uint64_t most)
{
	if (!holds(dir, v2 ? "memory.max" : "memory.limit_in_bytes", most)) {
		return false;
	}
	/* Version 1 limits both together. The files may be missing where nothing can be swapped. */
	return !swaps || (v2 ? holds(dir, "memory.swap.max", 0)
			     : holds(dir, "memory.memsw.limit_in_bytes", most));
}

static layer_set limits_of(struct cgroup *cgroup)
{
	bool v2 = cgroup->manager->ops == &found_v2;
	layer_set layers = 0;

	if (cgroup_memory_holds(dir_of(cgroup, CGROUP_MEMORY), v2, cgroup_host_swaps(),
				cgroup->limits.memory_bytes)) {
		layers |= LAYER_BIT(LAYER_CGROUP_MEMORY);
	}
	if (holds(dir_of(cgroup, CGROUP_PIDS), "pids.max", cgroup->limits.processes)) {
		layers |= LAYER_BIT(LAYER_CGROUP_PIDS);
	}
	cgroup->manager->layers = LAYERS_CGROUP;
	if (!cgroup_cpu_limited(cgroup) || cpu_holds(cgroup, cgroup->limits.cpu_millicores)) {
		layers |= LAYER_BIT(LAYER_CGROUP_CPU);
	}
	return layers;
}

static int read_paths(pid_t pid, char text[CGROUP_TEXT_MAX])
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	ssize_t n = cgroup_file_read(AT_FDCWD, path, text, CGROUP_TEXT_MAX);
	return n == -ENOENT ? -ESRCH : n < 0 ? (int)n : 0;
}

static struct cgroup *new_group(struct cgroup_manager *manager, const struct cgroup_limits *limits)
{
	struct cgroup *cgroup = calloc(1, sizeof(*cgroup));

	if (!cgroup) {
		return NULL;
	}
	cgroup->manager = manager;
	cgroup->limits = *limits;
	cgroup->dir_fd = cgroup->memory_fd = cgroup->event_fd = -1;
	for (size_t i = 0; i < CGROUP_TREES_MAX; i++) {
		cgroup->join_fds[i] = -1;
	}
	for (size_t i = 0; i < CGROUP_FIGURES; i++) {
		cgroup->usage_fds[i] = -1;
	}
	return cgroup;
}

int cgroup_find(pid_t pid, const char *marker, const struct cgroup_limits *limits,
		struct cgroup_manager **ret_manager, struct cgroup **ret, layer_set *ret_layers)
{
	char text[CGROUP_TEXT_MAX];
	int r = read_paths(pid, text);
	struct cgroup_manager *manager = r < 0 ? NULL : calloc(1, sizeof(*manager));
	struct cgroup *cgroup = manager ? new_group(manager, limits) : NULL;

	if (!cgroup) {
		free(manager);
		return r < 0 ? r : -ENOMEM;
	}
	manager->scope_root_fd = -1;
	manager->ops = &found_v1;
	r = find_v2(text, marker, manager, cgroup);
	r = r < 0 ? find_v1(text, marker, manager, cgroup) : r;
	if (r < 0) {
		cgroup_free(cgroup);
		cgroup_manager_free(manager);
		return r;
	}
	*ret_layers = limits_of(cgroup);
	*ret_manager = manager;
	*ret = cgroup;
	return 0;
}
