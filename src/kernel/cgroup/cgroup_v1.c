/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroup v1: one directory per hierarchy, made inside this process's own group, so that limits on
 * brig also apply to its cells.
 *
 * There is no common parent group: making and removing one costs as much as the cell's own (55 + 43
 * us for memory alone). Files are reached by the tree's fd and "<name>/<file>", which saves opening
 * each directory.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/cgroup/cgroup_internal.h"

#define SHARES_USUAL 1024u
#define SHARES_MOST  "262144" /* of the processors, where the usual is 1024 */

#define SOCKETS_SHARE 4u         /* a quarter of the memory... */
#define SOCKETS_LEAST (4u << 20) /* ...or this, if it is more: enough for a few connections */

/* The tree that has a controller, or -1. */
static int tree_of(const struct cgroup_manager *manager, unsigned bit)
{
	for (size_t i = 0; i < manager->tree_count; i++) {
		if (manager->trees[i].controllers & bit) {
			return (int)i;
		}
	}
	return -1;
}

static const char *file_path(const struct cgroup *cgroup, const char *file,
			     char path[CGROUP_PATH_MAX])
{
	snprintf(path, CGROUP_PATH_MAX, "%s/%s", cgroup->name, file);
	return path;
}

static int set(struct cgroup *cgroup, int tree, const char *file, uint64_t value)
{
	char path[CGROUP_PATH_MAX];

	return cgroup_file_write_u64(cgroup->manager->trees[tree].fd, file_path(cgroup, file, path),
				     value);
}

/*
 * Data in TCP and UDP sockets has a counter of its own, which is kept only if it has a limit
 * (Documentation/admin-guide/cgroup-v1/memory.rst, section 2.7). It is not part of the cell's
 * memory, so it gets a part of that limit. Each TCP socket may still hold some bytes; the total of
 * many is seen in sockets_bytes.
 */
static int limit_sockets(struct cgroup *cgroup, int tree, const char **what)
{
	uint64_t bytes = cgroup->limits.memory_bytes / SOCKETS_SHARE;

	*what = "memory.kmem.tcp.limit_in_bytes";
	int r = set(cgroup, tree, *what, bytes < SOCKETS_LEAST ? SOCKETS_LEAST : bytes);
	return r == -ENOENT ? 0 : r; /* a kernel without accounting of kernel memory */
}

static int limit_memory(struct cgroup *cgroup, int tree, const char **what)
{
	int r = limit_sockets(cgroup, tree, what);

	if (r < 0) {
		return r;
	}
	*what = "memory.limit_in_bytes";
	r = set(cgroup, tree, *what, cgroup->limits.memory_bytes);
	if (r < 0) {
		return r;
	}
	if (!cgroup_host_swaps()) {
		return 0;
	}
	/* Memory and swap together: no room in swap. Without swap accounting: do not swap. */
	*what = "memory.memsw.limit_in_bytes";
	r = set(cgroup, tree, *what, cgroup->limits.memory_bytes);
	if (r == -ENOENT || r == -EOPNOTSUPP) {
		set(cgroup, tree, "memory.swappiness", 0);
		r = 0;
	}
	return r;
}

static int limit_cpu(struct cgroup *cgroup, int tree, const char **what)
{
	uint64_t quota, period;

	cgroup_cpu_quota(cgroup->limits.cpu_millicores, &quota, &period);
	if (period != 100000) {
		*what = "cpu.cfs_period_us";
		int r = set(cgroup, tree, *what, period);
		if (r < 0) {
			return r;
		}
	}
	*what = "cpu.cfs_quota_us";
	return set(cgroup, tree, *what, quota);
}

static int limit_in_tree(struct cgroup *cgroup, size_t i, const char **what)
{
	const struct cgroup_tree *tree = &cgroup->manager->trees[i];
	int r = 0;

	if (tree->controllers & CGROUP_MEMORY && cgroup->limits.memory_bytes != 0) {
		r = limit_memory(cgroup, (int)i, what);
	}
	if (r < 0) {
		return r;
	}
	if (tree->controllers & CGROUP_PIDS && cgroup->limits.processes != 0) {
		*what = "pids.max";
		r = set(cgroup, (int)i, *what, cgroup->limits.processes);
	}
	if (r < 0) {
		return r;
	}
	return tree->controllers & CGROUP_CPU && cgroup_cpu_limited(cgroup)
		       ? limit_cpu(cgroup, (int)i, what)
		       : 0;
}

/* A hierarchy that was not used at the start cannot be added later. */
static int v1_limit(struct cgroup *cgroup)
{
	const char *what;

	for (size_t i = 0; i < cgroup->manager->tree_count; i++) {
		bool cpu = cgroup->manager->trees[i].controllers & CGROUP_CPU;
		if (!cgroup->made[i] && cpu && cgroup_cpu_limited(cgroup)) {
			return -ENOTSUP;
		}
		int r = cgroup->made[i] ? limit_in_tree(cgroup, i, &what) : 0;
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

static int make_in_tree(struct cgroup *cgroup, size_t i, const char **what)
{
	const struct cgroup_tree *tree = &cgroup->manager->trees[i];
	char path[CGROUP_PATH_MAX];

	*what = "mkdir";
	if (mkdirat(tree->fd, cgroup->name, 0755) < 0) {
		return -errno;
	}
	cgroup->made[i] = true;
	int r = limit_in_tree(cgroup, i, what);
	if (r < 0) {
		return r;
	}
	*what = "tasks";
	cgroup->join_fds[i] = openat(tree->fd, file_path(cgroup, "tasks", path),
				     O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	return cgroup->join_fds[i] < 0 ? -errno : 0;
}

static int v1_create(struct cgroup *cgroup, struct brig_error *err)
{
	struct cgroup_manager *manager = cgroup->manager;

	for (size_t i = 0; i < manager->tree_count; i++) {
		unsigned bits = manager->trees[i].controllers;
		const char *what;
		int r;

		if (bits == CGROUP_CPU && !cgroup_cpu_limited(cgroup)) {
			continue;
		}
		r = make_in_tree(cgroup, i, &what);
		if (r < 0) {
			error_errno(err, BRIG_E_SYSTEM, -r, "cgroup v1: %s of %s", what,
				    cgroup->name);
			error_remedy(err, "see `brig doctor`: groups are made in %s",
				     manager->where);
			return r;
		}
	}
	return 0;
}

static int v1_admit(struct cgroup *cgroup, uid_t id)
{
	for (size_t i = 0; i < cgroup->manager->tree_count; i++) {
		const struct cgroup_tree *tree = &cgroup->manager->trees[i];
		char path[CGROUP_PATH_MAX];

		if (!cgroup->made[i]) {
			continue;
		}
		/* The mode is set again: the service's umask allows others nothing. */
		if (fchmodat(tree->fd, cgroup->name, 0711, 0) < 0 ||
		    fchownat(tree->fd, file_path(cgroup, "tasks", path), id, id,
			     AT_SYMLINK_NOFOLLOW) < 0) {
			return -errno;
		}
		close_fd(&cgroup->join_fds[i]);
		cgroup->join_fds[i] = openat(tree->fd, cgroup->name,
					     O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
		if (cgroup->join_fds[i] < 0) {
			return -errno;
		}
	}
	return 1;
}

/* The counters that are read each time, by their index in usage_fds. */
static const struct {
	unsigned bit;
	const char *file;
} figures[CGROUP_FIGURES] = {
	[CGROUP_TASKS_NOW] = { CGROUP_PIDS, "pids.current" },
	[CGROUP_TASKS_PEAK] = { CGROUP_PIDS, "pids.peak" },
	[CGROUP_MEMORY_PEAK] = { CGROUP_MEMORY, "memory.max_usage_in_bytes" },
	[CGROUP_CPU_USED] = { CGROUP_CPUACCT, "cpuacct.usage" },
	[CGROUP_OOM_KILLS] = { CGROUP_MEMORY, "memory.oom_control" },
	[CGROUP_SOCKETS_NOW] = { CGROUP_MEMORY, "memory.kmem.tcp.usage_in_bytes" },
};

/* Opened at the first read, kept open for the next, which must be fast. */
static int figure_fd(struct cgroup *cgroup, enum cgroup_figure figure)
{
	int tree = tree_of(cgroup->manager, figures[figure].bit);
	int *fd = &cgroup->usage_fds[figure];
	char path[CGROUP_PATH_MAX];

	if (tree < 0 || !cgroup->made[tree]) {
		return -1;
	}
	if (*fd < 0) {
		*fd = openat(cgroup->manager->trees[tree].fd,
			     file_path(cgroup, figures[figure].file, path),
			     O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	}
	return *fd;
}

static void read_figure(struct cgroup *cgroup, enum cgroup_figure figure, char *text, size_t size)
{
	int fd = figure_fd(cgroup, figure);
	ssize_t n = fd < 0 ? -1 : pread(fd, text, size - 1, 0);

	text[n < 0 ? 0 : n] = '\0';
}

static bool get(struct cgroup *cgroup, enum cgroup_figure figure, uint64_t *ret)
{
	char text[64];

	read_figure(cgroup, figure, text, sizeof(text));
	return cgroup_text_u64(text, ret);
}

/*
 * Out of memory is reported by an eventfd (Documentation/admin-guide/cgroup-v1/memory.rst, section
 * 10). The kernel needs the other file only to find the group. Not fatal: the counters show it too,
 * only later.
 */
static void v1_watch(struct cgroup *cgroup)
{
	int tree = tree_of(cgroup->manager, CGROUP_MEMORY);
	int memory = figure_fd(cgroup, CGROUP_OOM_KILLS);
	char path[CGROUP_PATH_MAX], text[32];

	if (memory < 0) {
		return;
	}
	cgroup->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (cgroup->event_fd < 0) {
		return;
	}
	snprintf(text, sizeof(text), "%d %d", cgroup->event_fd, memory);
	if (cgroup_file_write(cgroup->manager->trees[tree].fd,
			      file_path(cgroup, "cgroup.event_control", path), text) < 0) {
		close_fd(&cgroup->event_fd);
	}
}

static void count_oom_kills(struct cgroup *cgroup, struct cgroup_usage *usage)
{
	char text[256];

	read_figure(cgroup, CGROUP_OOM_KILLS, text, sizeof(text));
	cgroup_text_value(text, "oom_kill", &usage->oom_kills);
}

/* If the limit was not reached, nothing was refused: then the file is not read. */
static void count_refusals(struct cgroup *cgroup, struct cgroup_usage *usage)
{
	int tree = tree_of(cgroup->manager, CGROUP_PIDS);
	char path[CGROUP_PATH_MAX], text[256];

	if (usage->processes_peak != 0 && usage->processes_peak < cgroup->limits.processes) {
		return;
	}
	if (cgroup_file_read(cgroup->manager->trees[tree].fd,
			     file_path(cgroup, "pids.events", path), text, sizeof(text)) > 0) {
		cgroup_text_value(text, "max", &usage->fork_refusals);
	}
}

static void v1_usage(struct cgroup *cgroup, struct cgroup_usage *usage)
{
	usage->has_processes = get(cgroup, CGROUP_TASKS_NOW, &usage->processes_now);
	if (usage->has_processes) {
		get(cgroup, CGROUP_TASKS_PEAK, &usage->processes_peak);
		count_refusals(cgroup, usage);
	}
	usage->has_memory = get(cgroup, CGROUP_MEMORY_PEAK, &usage->memory_peak_bytes);
	if (usage->has_memory) {
		count_oom_kills(cgroup, usage);
		get(cgroup, CGROUP_SOCKETS_NOW, &usage->sockets_bytes);
	}
	usage->has_cpu = get(cgroup, CGROUP_CPU_USED, &usage->cpu_ns);
}

static void v1_event_clear(struct cgroup *cgroup)
{
	uint64_t count;

	if (cgroup->event_fd >= 0 && read(cgroup->event_fd, &count, sizeof(count)) < 0) {
		return; /* EAGAIN: it was clear */
	}
}

static int v1_attach(struct cgroup *cgroup, pid_t pid, struct brig_error *err)
{
	(void)cgroup;
	(void)pid;
	(void)err;
	return 0;
}

static bool v1_kill(struct cgroup *cgroup)
{
	(void)cgroup;
	return false;
}

static void v1_weigh(struct cgroup *cgroup, unsigned part)
{
	int tree = tree_of(cgroup->manager, CGROUP_CPU);

	if (tree >= 0 && cgroup->made[tree]) {
		(void)set(cgroup, tree, "cpu.shares", SHARES_USUAL / part);
	}
}

/*
 * The death of pid 1 kills the others, but it must be scheduled first, among all of them: so they
 * are killed one by one before the quota is lifted.
 */
static void v1_hurry(struct cgroup *cgroup)
{
	int tree = tree_of(cgroup->manager, CGROUP_CPU);
	char path[CGROUP_PATH_MAX];

	if (tree < 0 || !cgroup->made[tree]) {
		return;
	}
	int fd = cgroup->manager->trees[tree].fd;
	cgroup_kill_members(fd, cgroup->name);
	(void)cgroup_file_write(fd, file_path(cgroup, "cpu.cfs_quota_us", path), "-1");
	(void)cgroup_file_write(fd, file_path(cgroup, "cpu.shares", path), SHARES_MOST);
}

/*
 * Called again until it is done: processes that are left in a group by then are killed one by one.
 */
static bool v1_remove(struct cgroup *cgroup)
{
	struct cgroup_manager *manager = cgroup->manager;
	bool done = true;

	for (size_t i = 0; i < manager->tree_count; i++) {
		if (!cgroup->made[i]) {
			continue;
		}
		if (unlinkat(manager->trees[i].fd, cgroup->name, AT_REMOVEDIR) == 0 ||
		    errno == ENOENT) {
			cgroup->made[i] = false;
		} else {
			done = false;
		}
	}
	return done;
}

const struct cgroup_ops cgroup_v1_ops = {
	.means = "cgroup1",
	.create = v1_create,
	.limit = v1_limit,
	.attach = v1_attach,
	.admit = v1_admit,
	.usage = v1_usage,
	.watch = v1_watch,
	.event_clear = v1_event_clear,
	.kill = v1_kill,
	.weigh = v1_weigh,
	.hurry = v1_hurry,
	.remove = v1_remove,
};
