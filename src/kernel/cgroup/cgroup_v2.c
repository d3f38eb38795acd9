/* SPDX-License-Identifier: Apache-2.0 */
/* cgroup v2: one directory per cell, into which the cell's first process is born. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "kernel/cgroup/cgroup_internal.h"

#define WEIGHT_USUAL 100u
#define WEIGHT_MOST  "10000" /* of the processors, where the usual is 100 */

#define CREATE_TRIES 64

static const struct cgroup_ops v2_ops;

static const char *group_path(const struct cgroup *cgroup, char path[CGROUP_PATH_MAX])
{
	snprintf(path, CGROUP_PATH_MAX, "%s%s", cgroup->manager->trees[0].prefix, cgroup->name);
	return path;
}

int cgroup_v2_probe(struct cgroup_manager *manager, const struct cgroup_facts *facts,
		    struct buf *why)
{
	int r = cgroup_v2_base(manager, facts, why);

	if (r > 0) {
		manager->ops = &v2_ops;
		if (!(manager->layers & LAYER_BIT(LAYER_CGROUP_CPU))) {
			buf_addf(why, "%scgroup v2: the cpu controller is not offered in %s",
				 why->size ? "; " : "", manager->where);
		}
	}
	return r;
}

/* The cpu controller has a cost in every context switch: it is used only for a limit. */
static unsigned wanted(struct cgroup *cgroup)
{
	unsigned bits = cgroup->manager->trees[0].controllers & (CGROUP_MEMORY | CGROUP_PIDS);

	return bits | (cgroup_cpu_limited(cgroup) ? CGROUP_CPU : 0);
}

/*
 * ENOENT: the parent was removed by another brig that ended, or never existed; EAGAIN: it was
 * removed while it was prepared.
 */
static int make_directory(struct cgroup *cgroup, struct brig_error *err)
{
	struct cgroup_manager *manager = cgroup->manager;
	unsigned bits = wanted(cgroup);
	char path[CGROUP_PATH_MAX];
	int r = -ENOENT;

	group_path(cgroup, path);
	for (int i = 0; i < CREATE_TRIES; i++) {
		if ((manager->prepared & bits) != bits) {
			r = cgroup_v2_prepare(manager, bits, err);
			if (r == -EAGAIN) {
				continue;
			}
			if (r < 0) {
				return r;
			}
		}
		if (mkdirat(manager->trees[0].fd, path, 0755) == 0) {
			cgroup->made[0] = true;
			return 0;
		}
		r = -errno;
		if (r != -ENOENT && r != -ENODEV) {
			break;
		}
		manager->prepared = 0;
	}
	error_errno(err, BRIG_E_SYSTEM, -r, "cgroup v2: cannot make %s in %s", cgroup->name,
		    manager->where);
	error_remedy(
		err,
		"see `brig doctor`; limits of groups above (cgroup.max.descendants) count too");
	return r;
}

struct setting {
	const char *file;
	char text[48];
	bool optional; /* before 4.19, or built without it, the kernel still enforces the limit */
};

static size_t settings(struct cgroup *cgroup, struct setting list[5])
{
	const struct cgroup_limits *limits = &cgroup->limits;
	unsigned bits = cgroup->manager->trees[0].controllers;
	size_t n = 0;

	if (bits & CGROUP_MEMORY && limits->memory_bytes != 0) {
		list[n] = (struct setting){ .file = "memory.max" };
		snprintf(list[n++].text, sizeof(list->text), "%" PRIu64, limits->memory_bytes);
		if (cgroup_host_swaps()) {
			list[n++] = (struct setting){ "memory.swap.max", "0", true };
		}
		list[n++] = (struct setting){ "memory.oom.group", "1", true };
	}
	if (bits & CGROUP_PIDS && limits->processes != 0) {
		list[n] = (struct setting){ .file = "pids.max" };
		snprintf(list[n++].text, sizeof(list->text), "%" PRIu64, limits->processes);
	}
	if (bits & CGROUP_CPU && cgroup_cpu_limited(cgroup)) {
		uint64_t quota, period;

		cgroup_cpu_quota(limits->cpu_millicores, &quota, &period);
		list[n] = (struct setting){ .file = "cpu.max" };
		snprintf(list[n++].text, sizeof(list->text), "%" PRIu64 " %" PRIu64, quota, period);
	}
	return n;
}

static int limit(struct cgroup *cgroup, const char **what)
{
	struct setting list[5];
	size_t count = settings(cgroup, list);

	for (size_t i = 0; i < count; i++) {
		int r = cgroup_file_write(cgroup->dir_fd, list[i].file, list[i].text);

		if (r < 0 && !(r == -ENOENT && list[i].optional)) {
			*what = list[i].file;
			return r;
		}
	}
	return 0;
}

/*
 * The parent may exist without the controllers: another brig has not enabled them yet, or the first
 * limits of the group needed fewer of them.
 */
static int limit_prepared(struct cgroup *cgroup, const char **what, struct brig_error *err)
{
	int r = limit(cgroup, what);

	if (r == -ENOENT) {
		r = cgroup_v2_prepare(cgroup->manager, wanted(cgroup), err);
		r = r < 0 ? r : limit(cgroup, what);
	}
	return r;
}

static int v2_limit(struct cgroup *cgroup)
{
	const char *what;

	return limit_prepared(cgroup, &what, NULL);
}

static int v2_create(struct cgroup *cgroup, struct brig_error *err)
{
	struct cgroup_manager *manager = cgroup->manager;
	const char *what = "open";
	char path[CGROUP_PATH_MAX];
	int r = make_directory(cgroup, err);

	if (r < 0) {
		return r;
	}
	cgroup->dir_fd = openat(manager->trees[0].fd, group_path(cgroup, path),
				O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	r = cgroup->dir_fd < 0 ? -errno : limit_prepared(cgroup, &what, err);
	if (r < 0) {
		error_errno(err, BRIG_E_SYSTEM, -r, "cgroup v2: %s of %s in %s", what, cgroup->name,
			    manager->where);
		error_remedy(err, "see `brig doctor` for the controllers that this host offers");
		return r;
	}
	return 0;
}

/* poll() reports changes since the last read, so there must be a first one. */
void cgroup_v2_watch(struct cgroup *cgroup)
{
	if (cgroup->dir_fd < 0) {
		return;
	}
	cgroup->memory_fd =
		openat(cgroup->dir_fd, "memory.events", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	cgroup_v2_event_clear(cgroup);
}

void cgroup_v2_event_clear(struct cgroup *cgroup)
{
	char text[512];

	if (cgroup->memory_fd >= 0 && pread(cgroup->memory_fd, text, sizeof(text), 0) < 0) {
		return; /* ENODEV: the group is gone, and so are its events */
	}
}

/*
 * "oom" counts in the group whose limit was reached, "oom_kill" in the group of the killed process.
 */
static void count_oom_kills(const char *events, struct cgroup_usage *usage)
{
	uint64_t own = 0;

	usage->oom_outside = cgroup_text_value(events, "oom_kill", &usage->oom_kills) &&
			     usage->oom_kills > 0 && cgroup_text_value(events, "oom", &own) &&
			     own == 0;
}

void cgroup_v2_usage(struct cgroup *cgroup, struct cgroup_usage *usage)
{
	int fd = cgroup->dir_fd;
	char text[1024];
	uint64_t us;
	ssize_t n;

	usage->has_memory = cgroup_file_read_u64(fd, "memory.current", &usage->memory_now_bytes);
	if (usage->has_memory) {
		/* memory.peak exists since Linux 5.19; before, the greatest value that was read. */
		if (!cgroup_file_read_u64(fd, "memory.peak", &usage->memory_peak_bytes)) {
			usage->memory_peak_bytes = usage->memory_now_bytes;
		}
		if (usage->memory_peak_bytes < cgroup->last.memory_peak_bytes) {
			usage->memory_peak_bytes = cgroup->last.memory_peak_bytes;
		}
	}
	if (cgroup->memory_fd >= 0) {
		n = pread(cgroup->memory_fd, text, sizeof(text) - 1, 0);
		text[n < 0 ? 0 : n] = '\0';
	} else {
		n = cgroup_file_read(fd, "memory.events", text, sizeof(text));
	}
	if (n > 0) {
		count_oom_kills(text, usage);
	}
	usage->has_processes = cgroup_file_read_u64(fd, "pids.current", &usage->processes_now);
	if (usage->has_processes) {
		cgroup_file_read_u64(fd, "pids.peak", &usage->processes_peak);
		n = cgroup_file_read(fd, "pids.events", text, sizeof(text));
		if (n > 0) {
			cgroup_text_value(text, "max", &usage->fork_refusals);
		}
	}
	n = cgroup_file_read(fd, "cpu.stat", text, sizeof(text));
	usage->has_cpu = n > 0 && cgroup_text_value(text, "usage_usec", &us);
	usage->cpu_ns = usage->has_cpu ? us * 1000 : 0;
	cgroup->last = *usage;
}

/* cgroup.kill exists since Linux 5.14. */
bool cgroup_v2_kill(struct cgroup *cgroup)
{
	return cgroup->dir_fd >= 0 && cgroup_file_write(cgroup->dir_fd, "cgroup.kill", "1") == 0;
}

void cgroup_v2_weigh(struct cgroup *cgroup, unsigned part)
{
	if (cgroup->dir_fd >= 0) {
		(void)cgroup_file_write_u64(cgroup->dir_fd, "cpu.weight", WEIGHT_USUAL / part);
	}
}

void cgroup_v2_hurry(struct cgroup *cgroup)
{
	if (cgroup->dir_fd >= 0) {
		(void)cgroup_file_write(cgroup->dir_fd, "cpu.max", "max");
		(void)cgroup_file_write(cgroup->dir_fd, "cpu.weight", WEIGHT_MOST);
	}
}

static int v2_attach(struct cgroup *cgroup, pid_t pid, struct brig_error *err)
{
	(void)cgroup;
	(void)pid;
	(void)err;
	return 0;
}

static bool v2_remove(struct cgroup *cgroup)
{
	char path[CGROUP_PATH_MAX];

	if (!cgroup->made[0]) {
		return true;
	}
	return unlinkat(cgroup->manager->trees[0].fd, group_path(cgroup, path), AT_REMOVEDIR) ==
		       0 ||
	       errno == ENOENT;
}

static const struct cgroup_ops v2_ops = {
	.means = "cgroup2",
	.memory_fd_polls = true,
	.create = v2_create,
	.limit = v2_limit,
	.attach = v2_attach,
	.usage = cgroup_v2_usage,
	.watch = cgroup_v2_watch,
	.event_clear = cgroup_v2_event_clear,
	.kill = cgroup_v2_kill,
	.weigh = cgroup_v2_weigh,
	.hurry = cgroup_v2_hurry,
	.remove = v2_remove,
};
