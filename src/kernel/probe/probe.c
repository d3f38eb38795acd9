/* SPDX-License-Identifier: Apache-2.0 */
/* The order in which a host is probed, and the meaning of each attempt for its layer. */
#include "kernel/probe/probe.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "kernel/idrange.h"
#include "kernel/probe/probe_internal.h"

#define LANDLOCK_ABI_SCOPES 6 /* signals and abstract sockets, Linux 6.12 */

/* In a user namespace like a cell's, or in the caller's. */
enum where { IN_CELL, HERE };

static const struct {
	enum layer layer;
	enum where where;
	uint64_t namespaces;
	int (*inside)(const struct probe_attempt *attempt, struct probe_note *note);
} trials[] = {
	{ LAYER_PIDNS, IN_CELL, CLONE_NEWPID, probe_pid_one },
	{ LAYER_MNTNS, IN_CELL, CLONE_NEWNS, probe_private },
	{ LAYER_NETNS, IN_CELL, CLONE_NEWNET, probe_loopback },
	{ LAYER_IPCNS, IN_CELL, CLONE_NEWIPC, NULL },
	{ LAYER_UTSNS, IN_CELL, CLONE_NEWUTS, probe_hostname },
	{ LAYER_CGROUPNS, IN_CELL, CLONE_NEWCGROUP, NULL },
	{ LAYER_TIMENS, IN_CELL, 0, probe_time },
	{ LAYER_ROOTFS, IN_CELL, CLONE_NEWNS, probe_rootfs },
	{ LAYER_OVERLAY, IN_CELL, CLONE_NEWNS, probe_overlay },
	{ LAYER_PROC, IN_CELL, CLONE_NEWNS | CLONE_NEWPID, probe_proc },
	{ LAYER_CAPS, IN_CELL, 0, probe_caps },
	{ LAYER_NNP, HERE, 0, probe_nnp },
	{ LAYER_LANDLOCK, HERE, 0, probe_landlock },
	{ LAYER_SECCOMP, HERE, 0, probe_seccomp },
	{ LAYER_NOTIFY, HERE, 0, probe_notify },
	{ LAYER_KEYRING, IN_CELL, 0, probe_keyring },
};

const char *probe_state_name(enum probe_state state)
{
	static const char *const names[] = {
		[PROBE_OK] = "ok",
		[PROBE_DEGRADED] = "degraded",
		[PROBE_MISSING] = "missing",
	};

	return names[state];
}

static void conclude(struct probe_finding *finding, int r, const struct probe_note *note)
{
	finding->state = r < 0 ? PROBE_MISSING : PROBE_OK;
	finding->errnum = r < 0 ? -r : 0;
	if (r < 0) {
		snprintf(finding->detail, sizeof(finding->detail), "%s: %s", note->what,
			 strerror(-r));
	}
}

/* Adds further findings of a successful attempt. */
static void refine(enum layer layer, const struct probe_note *note, struct probe_finding *finding)
{
	int value = note->values[0];

	if (finding->state != PROBE_OK) {
		return;
	}
	if (layer == LAYER_LANDLOCK) {
		bool scoped = value >= LANDLOCK_ABI_SCOPES;
		finding->state = scoped ? PROBE_OK : PROBE_DEGRADED;
		snprintf(finding->detail, sizeof(finding->detail), "ABI %d%s", value,
			 scoped ? "" : ": signals and abstract sockets are not scoped");
	}
	if (layer == LAYER_NOTIFY && !value) {
		finding->state = PROBE_DEGRADED;
		snprintf(finding->detail, sizeof(finding->detail),
			 "no WAIT_KILLABLE: a signal can interrupt a refused call");
	}
	if (layer == LAYER_KEYRING && value) {
		snprintf(finding->detail, sizeof(finding->detail),
			 "the kernel has no keyrings: there is none to share");
	}
}

/* Returns the fd that holds the ids, or -1: then cells have the caller's own. */
static int try_ids(struct probe_attempt *base, struct probe_finding *finding)
{
	struct probe_attempt attempt = *base;
	struct probe_note note = { 0 };
	struct brig_error err = { 0 };
	uint32_t first_id = 0;

	if (attempt.namespaces == 0) {
		*finding = (struct probe_finding){
			.state = PROBE_MISSING,
			.errnum = EPERM,
			.detail = "needs userns",
			.repair = "fix userns first",
		};
		return -1;
	}
	_cleanup_close_ int ids = idrange_take(&first_id, &err);
	if (ids < 0) {
		conclude(finding, ids, &note);
		snprintf(finding->detail, sizeof(finding->detail), "%.300s", err.message);
		return -1;
	}
	attempt.first_id = first_id;
	attempt.inside = probe_nested_userns;
	int r = probe_attempt(&attempt, &note);
	conclude(finding, r, &note);
	if (r < 0) {
		return -1;
	}
	base->first_id = first_id;
	return TAKE_FD(ids);
}

static void run_trials(const struct probe_attempt *base, struct probe_report *report)
{
	for (size_t i = 0; i < ARRAY_SIZE(trials); i++) {
		struct probe_finding *finding = &report->layers[trials[i].layer];
		struct probe_attempt attempt = { .inside = trials[i].inside };
		struct probe_note note = { 0 };

		if (trials[i].where == IN_CELL) {
			attempt.namespaces = base->namespaces;
			attempt.first_id = base->first_id;
		}
		attempt.namespaces |= trials[i].namespaces;
		conclude(finding, probe_attempt(&attempt, &note), &note);
		refine(trials[i].layer, &note, finding);
	}
}

static void run_calls(struct probe_report *report)
{
	struct probe_attempt attempt = { .inside = probe_calls };
	struct probe_note note = { 0 };
	int r = probe_attempt(&attempt, &note);

	for (int i = 0; i < PROBE_CALLS; i++) {
		struct probe_finding *finding = &report->calls[i];
		int errnum = r < 0 ? -r : note.values[i];

		finding->state = errnum ? PROBE_MISSING : PROBE_OK;
		finding->errnum = errnum;
		if (errnum) {
			snprintf(finding->detail, sizeof(finding->detail), "%s", strerror(errnum));
		}
		probe_repair_call(&report->host, (enum probe_call)i, finding);
	}
}

void probe_run(struct cgroup_manager *groups, struct probe_report *ret)
{
	struct probe_attempt base = { .namespaces = CLONE_NEWUSER, .inside = probe_nested_userns };
	struct probe_note note = { 0 };

	*ret = (struct probe_report){ 0 };
	probe_host(&ret->host);
	conclude(&ret->layers[LAYER_USERNS], probe_attempt(&base, &note), &note);
	base.inside = NULL;
	if (ret->layers[LAYER_USERNS].state == PROBE_MISSING) {
		base.namespaces = 0; /* root can still make the others */
	}
	int ids = try_ids(&base, &ret->layers[LAYER_UIDRANGE]);
	run_trials(&base, ret);
	probe_cgroup(groups, &base, ret->layers);
	close_fd(&ids);
	run_calls(ret);
	for (int i = 0; i < LAYER_COUNT; i++) {
		probe_repair(&ret->host, (enum layer)i, &ret->layers[i]);
	}
}
