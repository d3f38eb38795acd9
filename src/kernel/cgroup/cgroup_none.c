/* SPDX-License-Identifier: Apache-2.0 */
/* A host without control groups: nothing is limited here, nothing is measured. */
#include <errno.h>

#include "kernel/cgroup/cgroup_internal.h"

static int none_create(struct cgroup *cgroup, struct brig_error *err)
{
	(void)cgroup;
	(void)err;
	return 0;
}

static int none_attach(struct cgroup *cgroup, pid_t pid, struct brig_error *err)
{
	(void)cgroup;
	(void)pid;
	(void)err;
	return 0;
}

static void none_usage(struct cgroup *cgroup, struct cgroup_usage *usage)
{
	(void)cgroup;
	(void)usage;
}

static void none_event(struct cgroup *cgroup)
{
	(void)cgroup;
}

static bool none_kill(struct cgroup *cgroup)
{
	(void)cgroup;
	return false;
}

static bool none_remove(struct cgroup *cgroup)
{
	(void)cgroup;
	return true;
}

static const struct cgroup_ops none_ops = {
	.means = "none",
	.create = none_create,
	.attach = none_attach,
	.usage = none_usage,
	.watch = none_event,
	.event_clear = none_event,
	.kill = none_kill,
	.remove = none_remove,
};

int cgroup_none_probe(struct cgroup_manager *manager, const struct cgroup_facts *facts,
		      struct buf *why)
{
	(void)facts;
	(void)why;
	manager->ops = &none_ops;
	manager->layers = 0;
	return 1;
}
