/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether this host can make such cells: a tool is found, and starts the agent in a cell, within
 * the deadline. A program in it is not needed for that.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "holder/held.h"
#include "kernel/idrange.h"
#include "kernel/probe/probe.h"

static void missing(struct probe_finding *ret, const struct brig_error *err)
{
	ret->state = PROBE_MISSING;
	ret->errnum = err->errnum;
	snprintf(ret->detail, sizeof(ret->detail), "%.*s", (int)sizeof(ret->detail) - 1,
		 err->message);
	snprintf(ret->repair, sizeof(ret->repair), "%.*s", (int)sizeof(ret->repair) - 1,
		 err->remedy);
}

/* 0: the agent has answered; -errno. */
static int wait_for_agent(struct run *run, uint64_t deadline_ns, struct brig_error *err)
{
	while (held_of(run)->link.reports.state == REPORT_NEW) {
		uint64_t now = clock_now_ns();
		if (now >= deadline_ns) {
			int r = error_set(err, BRIG_E_HOST, ETIMEDOUT,
					  "%s did not start a %s in time", held_of(run)->path,
					  held_of(run)->kind->product);
			error_remedy(err, "try it by hand: %s --version", held_of(run)->path);
			return r;
		}
		struct pollfd ready = { .fd = run->epoll, .events = POLLIN };
		poll(&ready, 1, (int)((deadline_ns - now) / 1000000u) + 1);
		int r = run_step(run, err);
		if (r < 0) {
			return r;
		}
		if (r == 1) {
			return error_set(err, BRIG_E_HOST, EIO, "the %s ended at once",
					 held_of(run)->kind->product);
		}
	}
	return 0;
}

/* An empty cell, without a control group: those are probed by themselves. */
static int try_cell(struct cgroup_manager *groups, struct spec *spec, uint64_t deadline_ns,
		    char path[HELD_PATH_MAX], struct brig_error *err)
{
	static const char *const nothing[] = { NULL };
	static const struct closure closure = { 0 };
	static const struct brig_limits limits = {
		.wall_ns = UINT64_MAX / 4,
		.cpu_ns = UINT64_MAX / 4,
		.memory_bytes = 1u << 30,
		.processes = 16,
		.disk_bytes = 1u << 20,
		.disk_inodes = 64,
		.open_files = 64,
		.file_bytes = 1u << 20,
	};
	const struct run_options options = { .spec = spec, .groups = groups };
	_cleanup_close_ int ids = -1;
	struct run *run = NULL;

	spec->caller_uid = geteuid();
	spec->caller_gid = getegid();
	spec->limits = limits;
	spec->closure = &closure;
	spec->argv = spec->envp = nothing;
	spec->devices = spec->gate = -1;
	/* Those that a policy may miss are found to be missing when a cell is built. */
	spec->layers &= ~(LAYERS_CGROUP | LAYER_BIT(LAYER_OVERLAY) | LAYER_BIT(LAYER_TIMENS));
	if (geteuid() == 0) {
		ids = idrange_take(&spec->first_id, err);
		if (ids < 0) {
			return ids;
		}
		spec->ranged = true;
	} else {
		spec->layers &= ~LAYER_BIT(LAYER_UIDRANGE);
	}
	int r = run_start(&options, &run, err);
	if (r < 0 || !run) {
		return r;
	}
	snprintf(path, HELD_PATH_MAX, "%s", held_of(run)->path);
	r = wait_for_agent(run, deadline_ns, err);
	run_free(run);
	return r;
}

void held_probe(const struct probe_report *host, struct spec *spec, uint64_t deadline_ns,
		struct probe_finding *ret)
{
	char path[HELD_PATH_MAX] = "";
	struct brig_error err = { 0 };

	if (!probe_required_calls(host, ret)) {
		return;
	}
	const struct cgroup_options none = { .disabled = true };
	struct cgroup_manager *groups = NULL;
	int r = cgroup_manager_new(&none, &groups, &err);
	r = r < 0 ? r : try_cell(groups, spec, deadline_ns, path, &err);
	cgroup_manager_free(groups);
	if (r < 0) {
		missing(ret, &err);
		return;
	}
	snprintf(ret->detail, sizeof(ret->detail), "by %.300s", path);
}
