/* SPDX-License-Identifier: Apache-2.0 */
/* Tries control groups: makes one with limits, starts a child in it, and removes it. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "kernel/probe/probe_internal.h"

static const enum layer group_layers[] = {
	LAYER_CGROUP_MEMORY,
	LAYER_CGROUP_PIDS,
	LAYER_CGROUP_CPU,
};
#define GROUP_LAYERS (sizeof(group_layers) / sizeof(group_layers[0]))

static void __attribute__((format(printf, 4, 5)))
set_all(struct probe_finding layers[LAYER_COUNT], enum probe_state state, int errnum,
	const char *format, ...)
{
	for (size_t i = 0; i < GROUP_LAYERS; i++) {
		struct probe_finding *finding = &layers[group_layers[i]];
		va_list args;

		finding->state = state;
		finding->errnum = errnum;
		va_start(args, format);
		vsnprintf(finding->detail, sizeof(finding->detail), format, args);
		va_end(args);
	}
}

/* 0 or -errno; `err` has the details if the group could not be made. */
static int try_group(struct cgroup_manager *groups, const struct probe_attempt *base,
		     struct probe_note *note, struct brig_error *err)
{
	struct cgroup_limits limits = {
		.memory_bytes = 64u << 20,
		.processes = 16,
		.cpu_millicores = 500,
	};
	struct probe_attempt attempt = *base;
	struct cgroup *group = NULL;
	int r = cgroup_new(groups, "doctor", &limits, &group, err);

	if (r < 0) {
		return r;
	}
	attempt.group = group;
	r = probe_attempt(&attempt, note);
	cgroup_free(group);
	return r;
}

void probe_cgroup(struct cgroup_manager *groups, const struct probe_attempt *base,
		  struct probe_finding layers[LAYER_COUNT])
{
	layer_set given = groups ? cgroup_manager_layers(groups) : 0;
	const char *means = groups ? cgroup_manager_means(groups) : "none";
	struct probe_note note = { 0 };
	struct brig_error err = { 0 };

	set_all(layers, PROBE_MISSING, 0, "%s", groups ? cgroup_manager_why(groups) : "not asked");
	if (given == 0) {
		return;
	}
	/* A doctor or a run that was killed may have left its group behind. */
	cgroup_manager_sweep(groups);
	int r = try_group(groups, base, &note, &err);
	if (r < 0) {
		set_all(layers, PROBE_MISSING, -r, "%s: %s: %s", means,
			err.message[0] ? err.message : note.what, strerror(-r));
		return;
	}
	/* systemd needs tens of milliseconds for what a delegated group does in one. */
	bool slow = strcmp(means, "systemd-scope") == 0;
	for (size_t i = 0; i < GROUP_LAYERS; i++) {
		struct probe_finding *finding = &layers[group_layers[i]];

		if (given & LAYER_BIT(group_layers[i])) {
			finding->state = slow ? PROBE_DEGRADED : PROBE_OK;
			snprintf(finding->detail, sizeof(finding->detail), "%s%s", means,
				 slow ? ": one scope per cell, slower to start" : "");
		}
	}
}
