/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of a cell's control group, by its spec. */
#ifndef BRIG_RUN_SPEC_GROUP_LIMITS_H
#define BRIG_RUN_SPEC_GROUP_LIMITS_H

#include "kernel/cgroup/cgroup.h"
#include "run/spec/spec.h"

static inline struct cgroup_limits group_limits_of(const struct spec *spec)
{
	uint64_t each = spec->provider->tasks_each ? spec->provider->tasks_each : 1;

	return (struct cgroup_limits){
		.memory_bytes = spec->limits.memory_bytes,
		.processes = spec->limits.processes * each + spec->provider->own_processes,
		.cpu_millicores = spec->limits.cpu_millicores,
	};
}
#endif
