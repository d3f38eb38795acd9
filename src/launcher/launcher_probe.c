/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether this host has a launcher that works: one of the built-in files whose program is found,
 * whose trial has the expected exit status, and which starts the agent within the deadline.
 */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "kernel/probe/probe.h"
#include "launcher/launcher_provider.h"

static void missing(const struct brig_error *err, struct probe_finding *ret)
{
	ret->state = PROBE_MISSING;
	ret->errnum = err->errnum;
	snprintf(ret->detail, sizeof(ret->detail), "%.*s", (int)sizeof(ret->detail) - 1,
		 err->message);
	snprintf(ret->repair, sizeof(ret->repair), "%.*s", (int)sizeof(ret->repair) - 1,
		 err->remedy);
}

/* -ENOENT: its program is not there. Anything else is in the finding. */
static int probe_one(const struct probe_report *host, const struct launcher *launcher,
		     uint64_t deadline_ns, struct probe_finding *ret)
{
	_cleanup_(strlist_done)
	struct strlist command = { 0 };
	char path[HELD_PATH_MAX] = "";
	struct brig_error err = { 0 };
	struct spec spec = { .provider = &launcher_provider,
			     .layers = launcher_provider.layers,
			     .launcher = launcher };
	const struct held_trial trial = { &launcher->probe, launcher->probe_status };
	int r = launcher_command(launcher, path, &command, &err);

	*ret = (struct probe_finding){ 0 };
	if (r == 0 && held_try(path, &trial, deadline_ns, &err) == 0) {
		held_probe(host, &spec, deadline_ns, ret);
		return 0;
	}
	missing(&err, ret);
	return r;
}

void launcher_probe(const struct probe_report *host, uint64_t deadline_ns,
		    struct probe_finding *ret)
{
	_cleanup_(strlist_done)
	struct strlist names = { 0 };
	struct probe_finding first = { .state = PROBE_MISSING };

	if (!probe_required_calls(host, ret)) {
		return;
	}
	(void)launcher_names(&names);
	for (size_t i = 0; i < names.count; i++) {
		_cleanup_(launcher_done)
		struct launcher launcher = { 0 };
		struct brig_error err = { 0 };
		if (launcher_built_in(names.items[i], &launcher, &err) < 0) {
			missing(&err, ret);
			return;
		}
		if (probe_one(host, &launcher, deadline_ns, ret) != -ENOENT) {
			return;
		}
		first = i == 0 ? *ret : first;
	}
	*ret = first;
}

void launcher_probe_for(const struct probe_report *host, uint64_t deadline_ns,
			const struct spec *spec, struct probe_finding *ret)
{
	if (probe_required_calls(host, ret)) {
		(void)probe_one(host, spec->launcher, deadline_ns, ret);
	}
}
