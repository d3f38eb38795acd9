/* SPDX-License-Identifier: Apache-2.0 */
/* One control group per cell: finds the kind that this host has, and does what all kinds share. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "kernel/cgroup/cgroup_internal.h"

#define ROOT "/sys/fs/cgroup"
#define SELF "/proc/self/cgroup"

typedef int (*probe_fn)(struct cgroup_manager *manager, const struct cgroup_facts *facts,
			struct buf *why);

/* In order of preference. The last one always succeeds. */
static const probe_fn probes[] = {
	cgroup_v2_probe,
	cgroup_v1_probe,
	cgroup_scope_probe,
	cgroup_none_probe,
};

static int choose(struct cgroup_manager *manager, const struct cgroup_facts *facts, struct buf *why)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(probes); i++) {
		r = probes[i](manager, facts, why);
	}
	return r;
}

static int discover(struct cgroup_manager *manager, const struct cgroup_options *options,
		    struct buf *why)
{
	const char *root = options->root ? options->root : ROOT;
	const char *self = options->self ? options->self : SELF;
	char text[CGROUP_TEXT_MAX];
	_cleanup_close_ int root_fd = -1;
	struct cgroup_facts facts = {
		.root = root,
		.real = !options->root,
		.self = text,
		.no_systemd = options->no_systemd,
	};
	ssize_t n;

	if (options->disabled) {
		buf_adds(why, "switched off by the caller");
		return cgroup_none_probe(manager, NULL, why);
	}
	root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0) {
		buf_addf(why, "%s: %s", root, strerror(errno));
		return cgroup_none_probe(manager, NULL, why);
	}
	n = cgroup_file_read(AT_FDCWD, self, text, sizeof(text));
	if (n < 0) {
		buf_addf(why, "%s: %s", self, strerror((int)-n));
		return cgroup_none_probe(manager, NULL, why);
	}
	facts.root_fd = root_fd;
	return choose(manager, &facts, why);
}

int cgroup_manager_new(const struct cgroup_options *options, struct cgroup_manager **ret,
		       struct brig_error *err)
{
	static const struct cgroup_options defaults = { 0 };
	struct cgroup_manager *manager = calloc(1, sizeof(*manager));
	struct buf why = { 0 };
	int r;

	if (!manager) {
		return error_errno(err, BRIG_E_SYSTEM, ENOMEM, "control groups");
	}
	manager->scope_root_fd = -1;
	r = discover(manager, options ? options : &defaults, &why);
	manager->why = buf_take(&why);
	if (r < 0 || !manager->why) {
		cgroup_manager_free(manager);
		return error_errno(err, BRIG_E_SYSTEM, r < 0 ? -r : ENOMEM, "control groups");
	}
	*ret = manager;
	return 0;
}

void cgroup_manager_free(struct cgroup_manager *manager)
{
	if (!manager) {
		return;
	}
	cgroup_leftovers_free(manager);
	for (size_t i = 0; i < manager->tree_count; i++) {
		/* The common parent is removed with its last user; a busy one stays. */
		if (*manager->trees[i].prefix) {
			unlinkat(manager->trees[i].fd, "brig", AT_REMOVEDIR);
		}
		close_fd(&manager->trees[i].fd);
	}
	close_fd(&manager->scope_root_fd);
	free(manager->where);
	free(manager->why);
	free(manager);
}

const char *cgroup_manager_means(const struct cgroup_manager *manager)
{
	return manager->ops->means;
}

void cgroup_manager_confine(struct cgroup_manager *manager)
{
	manager->confined = true;
}

layer_set cgroup_manager_layers(const struct cgroup_manager *manager)
{
	return manager->layers;
}

const char *cgroup_manager_where(const struct cgroup_manager *manager)
{
	return manager->where ? manager->where : "";
}

const char *cgroup_manager_why(const struct cgroup_manager *manager)
{
	return manager->why;
}

bool cgroup_host_swaps(void)
{
	struct sysinfo info;

	return sysinfo(&info) < 0 || info.totalswap != 0;
}

bool cgroup_cpu_limited(struct cgroup *cgroup)
{
	struct cgroup_manager *manager = cgroup->manager;

	if (cgroup->limits.cpu_millicores == 0 ||
	    !(manager->layers & LAYER_BIT(LAYER_CGROUP_CPU))) {
		return false;
	}
	if (manager->cpu_count == 0) {
		long count = sysconf(_SC_NPROCESSORS_ONLN);

		manager->cpu_count = count > 0 ? (uint64_t)count : UINT32_MAX;
	}
	return cgroup->limits.cpu_millicores < manager->cpu_count * 1000;
}

void cgroup_cpu_quota(uint64_t millicores, uint64_t *quota_us, uint64_t *period_us)
{
	bool small = millicores < 10;

	*period_us = small ? 1000000 : 100000;
	*quota_us = millicores * (small ? 1000 : 100);
}

int cgroup_new(struct cgroup_manager *manager, const char *name, const struct cgroup_limits *limits,
	       struct cgroup **ret, struct brig_error *err)
{
	struct cgroup *cgroup = calloc(1, sizeof(*cgroup));
	int r;

	if (!cgroup) {
		return error_errno(err, BRIG_E_SYSTEM, ENOMEM, "control group");
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
	r = cgroup_name_make(manager, name, cgroup->name);
	if (r < 0) {
		error_errno(err, BRIG_E_SYSTEM, -r, "control group for run %s", name);
	} else {
		r = manager->ops->create(cgroup, err);
	}
	if (r < 0) {
		cgroup_free(cgroup);
		return r;
	}
	*ret = cgroup;
	return 0;
}

bool cgroup_manager_adjusts(const struct cgroup_manager *manager)
{
	return manager->ops->limit != NULL;
}

int cgroup_limit(struct cgroup *cgroup, const struct cgroup_limits *limits)
{
	struct cgroup_limits before = cgroup->limits;

	if (memcmp(&before, limits, sizeof(before)) == 0) {
		return 0;
	}
	if (!cgroup->manager->ops->limit) {
		return -ENOTSUP;
	}
	cgroup->limits = *limits;
	int r = cgroup->manager->ops->limit(cgroup);
	if (r < 0) {
		cgroup->limits = before; /* the limits in force are unknown: the cell must end */
	}
	return r;
}

int cgroup_clone_fd(const struct cgroup *cgroup)
{
	return cgroup->made[0] ? cgroup->dir_fd : -1;
}

int cgroup_admit(struct cgroup *cgroup, uid_t id)
{
	const struct cgroup_manager *manager = cgroup->manager;

	return manager->confined && manager->ops->admit ? manager->ops->admit(cgroup, id) : 0;
}

int cgroup_join_fds(struct cgroup *cgroup, int fds[CGROUP_JOIN_MAX])
{
	int count = 0;

	/*
	 * v2 checks the rights of the process that opened the file: a clone without any may use it.
	 */
	if (cgroup->dir_fd >= 0 && cgroup->join_fds[0] < 0) {
		cgroup->join_fds[0] =
			openat(cgroup->dir_fd, "cgroup.procs", O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	}

	for (size_t i = 0; i < CGROUP_TREES_MAX; i++) {
		if (cgroup->join_fds[i] >= 0) {
			fds[count++] = cgroup->join_fds[i];
		}
	}
	return count;
}

void cgroup_join_done(struct cgroup *cgroup)
{
	for (size_t i = 0; i < CGROUP_TREES_MAX; i++) {
		close_fd(&cgroup->join_fds[i]);
	}
}

int cgroup_attach(struct cgroup *cgroup, pid_t pid, struct brig_error *err)
{
	return cgroup->manager->ops->attach(cgroup, pid, err);
}

/* Made on the first call: by then the child is starting, and this runs in parallel. */
int cgroup_event_fd(struct cgroup *cgroup, short *ret_events)
{
	bool polls = cgroup->manager->ops->memory_fd_polls;
	int fd;

	if (!cgroup->watched) {
		cgroup->manager->ops->watch(cgroup);
		/* A scope's group does not exist before attach: then call again. */
		cgroup->watched = !polls || cgroup->dir_fd >= 0;
	}
	fd = polls ? cgroup->memory_fd : cgroup->event_fd;
	if (fd >= 0) {
		*ret_events = polls ? POLLPRI : POLLIN;
	}
	return fd;
}

void cgroup_event_clear(struct cgroup *cgroup)
{
	cgroup->manager->ops->event_clear(cgroup);
}

static void keep_greater(uint64_t *value, uint64_t seen)
{
	*value = *value < seen ? seen : *value;
}

void cgroup_keep_last(struct cgroup *cgroup, const struct cgroup_usage *last,
		      struct cgroup_usage *usage)
{
	usage->has_memory |= last->has_memory;
	usage->has_processes |= last->has_processes;
	usage->has_cpu |= last->has_cpu;
	usage->oom_outside |= last->oom_outside;
	keep_greater(&usage->memory_peak_bytes, last->memory_peak_bytes);
	keep_greater(&usage->processes_peak, last->processes_peak);
	keep_greater(&usage->cpu_ns, last->cpu_ns);
	keep_greater(&usage->oom_kills, last->oom_kills);
	keep_greater(&usage->fork_refusals, last->fork_refusals);
	cgroup->last = *usage;
}

void cgroup_usage(struct cgroup *cgroup, struct cgroup_usage *ret)
{
	*ret = (struct cgroup_usage){ 0 };
	cgroup->manager->ops->usage(cgroup, ret);
}

void cgroup_rest(struct cgroup *cgroup)
{
	for (size_t i = 0; i < CGROUP_FIGURES; i++) {
		close_fd(&cgroup->usage_fds[i]);
	}
}

bool cgroup_kill(struct cgroup *cgroup)
{
	return cgroup->manager->ops->kill(cgroup);
}

void cgroup_weigh(struct cgroup *cgroup, unsigned part)
{
	if (cgroup->manager->ops->weigh && cgroup_cpu_limited(cgroup)) {
		cgroup->manager->ops->weigh(cgroup, part);
	}
}

void cgroup_hurry(struct cgroup *cgroup)
{
	if (cgroup->manager->ops->hurry && cgroup_cpu_limited(cgroup)) {
		cgroup->manager->ops->hurry(cgroup);
	}
}
