/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a cell's control group: removed at once, after a while, or a little at a time. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "kernel/cgroup/cgroup_internal.h"

#define REMOVE_NS        UINT64_C(2000000000)
#define REMOVE_SLEEP_MIN 50000L
#define REMOVE_SLEEP_MAX 20000000L
#define TIDY_AT_ONCE     16
#define REMOVE_KILL_AFTER                                                                          \
	4 /* tries: exiting processes need a moment, killing them again does not help */

/* Kills processes that are still alive after the first tries: by the kernel, or one by one. */
static void kill_again(struct cgroup *cgroup)
{
	struct cgroup_manager *manager = cgroup->manager;

	if (manager->ops->kill(cgroup)) {
		return;
	}
	for (size_t i = 0; i < manager->tree_count; i++) {
		char path[CGROUP_PATH_MAX];

		if (cgroup->made[i]) {
			snprintf(path, sizeof(path), "%s%s", manager->trees[i].prefix,
				 cgroup->name);
			cgroup_kill_members(manager->trees[i].fd, path);
		}
	}
}

/* Tries once. True: nothing is left of it. */
static bool try_remove(struct cgroup *cgroup)
{
	if (cgroup->manager->ops->remove(cgroup)) {
		return true;
	}
	if (cgroup->tries++ >= REMOVE_KILL_AFTER) {
		kill_again(cgroup);
	}
	return false;
}

static void remove_bounded(struct cgroup *cgroup)
{
	uint64_t deadline_ns = clock_now_ns() + REMOVE_NS;
	long sleep_ns = REMOVE_SLEEP_MIN;

	while (!try_remove(cgroup)) {
		if (clock_now_ns() >= deadline_ns) {
			return; /* the next sweep finds it */
		}
		nanosleep(&(struct timespec){ .tv_nsec = sleep_ns }, NULL);
		sleep_ns = sleep_ns * 2 < REMOVE_SLEEP_MAX ? sleep_ns * 2 : REMOVE_SLEEP_MAX;
	}
}

static void drop(struct cgroup *cgroup)
{
	close_fd(&cgroup->dir_fd);
	free(cgroup);
}

void cgroup_manager_hurry(struct cgroup_manager *manager)
{
	manager->hurried = true;
}

static struct cgroup *take_leftover(struct cgroup_manager *manager)
{
	struct cgroup *cgroup = LIST_FIRST(&manager->leftovers, struct cgroup, node);

	list_remove(&manager->leftovers, &cgroup->node);
	manager->leftovers_count--;
	return cgroup;
}

static void keep_leftover(struct cgroup_manager *manager, struct cgroup *cgroup)
{
	list_append(&manager->leftovers, &cgroup->node);
	manager->leftovers_count++;
}

/* Round robin: groups that cannot be removed go to the end, and do not delay the others. */
bool cgroup_manager_tidy(struct cgroup_manager *manager)
{
	size_t left = manager->leftovers_count; /* none is tried twice */

	for (size_t i = 0; i < left && i < TIDY_AT_ONCE; i++) {
		struct cgroup *cgroup = take_leftover(manager);

		if (try_remove(cgroup)) {
			drop(cgroup);
		} else {
			keep_leftover(manager, cgroup);
		}
	}
	return !list_empty(&manager->leftovers);
}

void cgroup_leftovers_free(struct cgroup_manager *manager)
{
	while (!list_empty(&manager->leftovers)) {
		struct cgroup *cgroup = take_leftover(manager);

		remove_bounded(cgroup);
		drop(cgroup);
	}
}

void cgroup_free(struct cgroup *cgroup)
{
	if (!cgroup) {
		return;
	}
	struct cgroup_manager *manager = cgroup->manager;
	/*
	 * Files first: if a file is open while its directory is removed, the kernel keeps a
	 * kilobyte in its caches until memory is short.
	 */
	cgroup_join_done(cgroup);
	cgroup_rest(cgroup);
	close_fd(&cgroup->event_fd);
	close_fd(&cgroup->memory_fd);
	if (manager->hurried && !try_remove(cgroup)) {
		keep_leftover(manager, cgroup);
		return;
	}
	if (!manager->hurried) {
		remove_bounded(cgroup);
	}
	drop(cgroup);
}
