/* SPDX-License-Identifier: Apache-2.0 */
/* The only loop that carries out a plan, and the table of its functions. */
#include <errno.h>

#include "base/clock.h"
#include "native/cell/cell.h"

static const step_function step_functions[STEP_KINDS] = {
	[STEP_CGROUP] = step_cgroup, /* the warden's */
	[STEP_CLONE] = step_clone,       [STEP_IDMAP] = step_idmap,
	[STEP_ATTACH] = step_attach,     [STEP_RELEASE] = step_release,
	[STEP_GROUP] = step_group,       [STEP_JOIN] = step_join,
	[STEP_AWAIT] = step_await,       [STEP_SELFMAP] = step_selfmap,
	[STEP_CLOSE] = step_close,       [STEP_BECOME] = step_become,
	[STEP_KEYRING] = step_keyring,   [STEP_COUNTS] = step_counts,
	[STEP_PRIVATE] = step_private,   [STEP_ROOT] = step_root,
	[STEP_OVERLAY] = step_overlay,   [STEP_DIR] = step_dir,
	[STEP_LINK] = step_link,         [STEP_FILE] = step_file,
	[STEP_BIND] = step_bind,         [STEP_DEVICE] = step_bind,
	[STEP_DEVICES] = step_devices,   [STEP_PROC] = step_proc,
	[STEP_WRITABLE] = step_writable, [STEP_INPUT] = step_input,
	[STEP_MOUNT] = step_mount,       [STEP_HANDLES] = step_handles,
	[STEP_PIVOT] = step_pivot,       [STEP_LOCKROOT] = step_lockroot,
	[STEP_NET] = step_net,           [STEP_NETENTER] = step_netenter,
	[STEP_NAMES] = step_names,       [STEP_NETHIDE] = step_nethide,
	[STEP_ROUTE] = step_route,       [STEP_LISTEN] = step_listen,
	[STEP_GATE] = step_gate,         [STEP_CGROUPNS] = step_cgroupns,
	[STEP_HOSTNAME] = step_hostname, [STEP_TIME] = step_time,
	[STEP_SPAWN] = step_spawn,       [STEP_SEAL] = step_seal,
	[STEP_READY] = step_ready,       [STEP_HOLD] = step_hold,
	[STEP_START] = step_start,       [STEP_GO] = step_go,
	[STEP_ASSIGN] = step_assign,     [STEP_RESUME] = step_resume,
	[STEP_LETGO] = step_letgo,       [STEP_VALUE] = step_value,
	[STEP_SESSION] = step_session,   [STEP_USER] = step_user,
	[STEP_INNER] = step_inner,       [STEP_STDIO] = step_stdio,
	[STEP_WORKDIR] = step_workdir,   [STEP_RLIMIT] = step_rlimit,
	[STEP_CAPS] = step_caps,         [STEP_NNP] = step_nnp,
	[STEP_LANDLOCK] = step_landlock, [STEP_SECCOMP] = step_seccomp,
	[STEP_CHANNEL] = step_channel,   [STEP_EXEC] = step_exec,
};

static int execute_from(struct cell *cell, enum actor actor, unsigned first)
{
	for (unsigned i = first; i < cell->plan->count; i++) {
		const struct step *step = &cell->plan->steps[i];
		if (step_table[step->kind].actor != actor) {
			continue;
		}
		cell->failed = i;
		uint64_t start = cell->took_ns ? clock_now_ns() : 0;
		int r = step_functions[step->kind](cell, step);
		if (r < 0) {
			return r;
		}
		if (cell->took_ns) {
			cell->took_ns[i] = clock_now_ns() - start;
		}
	}
	return 0;
}

int cell_execute(struct cell *cell, enum actor actor)
{
	return execute_from(cell, actor, 0);
}

int cell_execute_rest(struct cell *cell, enum actor actor)
{
	return execute_from(cell, actor, cell->failed + 1);
}
