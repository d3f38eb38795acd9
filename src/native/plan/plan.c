/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_make(): from a spec to the ordered list of steps. Pure: it reads nothing but the spec, so
 * the same spec always gives the same plan, and `brig explain` shows exactly what a run will do.
 */
#include "native/plan/plan.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "native/keeper/keeper.h"
#include "native/plan/plan_rootfs.h"
#include "native/plan/step_members.h"
#include "net/gate_messages.h"
#include "run/spec/rlimits.h"

/* Room for texts that the plan makes itself; closure paths are borrowed from the spec. */
#define PLAN_ARENA_BYTES 16384

struct step *plan_add(struct plan *plan, enum step_kind kind)
{
	/*
	 * The bound is far above any real plan; a spec that reaches it is refused, see plan_make.
	 */
	if (plan->count == PLAN_STEPS_MAX) {
		return &plan->steps[PLAN_STEPS_MAX];
	}
	struct step *step = &plan->steps[plan->count++];
	step_init(step, kind);
	return step;
}

const char *plan_text(struct plan *plan, const char *format, ...)
{
	va_list args;
	char *at = plan->arena + plan->arena_used;
	size_t room = plan->arena_size - plan->arena_used;

	va_start(args, format);
	int n = vsnprintf(at, room, format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= room) {
		plan->arena_used = plan->arena_size; /* checked by plan_make */
		return "";
	}
	plan->arena_used += (size_t)n + 1;
	return at;
}

/* The namespace of each layer. */
static const struct {
	enum layer layer;
	uint64_t flag;
} namespaces[] = {
	{ LAYER_USERNS, CLONE_NEWUSER }, { LAYER_PIDNS, CLONE_NEWPID },
	{ LAYER_MNTNS, CLONE_NEWNS },    { LAYER_IPCNS, CLONE_NEWIPC },
	{ LAYER_UTSNS, CLONE_NEWUTS },
};

static bool has(const struct spec *spec, enum layer layer)
{
	return (spec->layers & LAYER_BIT(layer)) != 0;
}

/* The parent of its user namespace is its template's, to which the warden does not belong. */
static bool maps_itself(const struct spec *spec)
{
	return spec->kind == CELL_CLONED && !spec->ranged && has(spec, LAYER_USERNS);
}

static void add_warden_steps(struct plan *plan)
{
	const struct spec *spec = plan->spec;
	layer_set cgroups = LAYER_BIT(LAYER_CGROUP_MEMORY) | LAYER_BIT(LAYER_CGROUP_PIDS) |
			    LAYER_BIT(LAYER_CGROUP_CPU);
	bool grouped = (spec->layers & cgroups) != 0;

	/* Where the child joins by itself, the group is made while the child already works. */
	if (grouped && !spec->join_by_write) {
		plan_add(plan, STEP_CGROUP);
	}
	struct step *clone = plan_add(plan, STEP_CLONE);
	for (size_t i = 0; i < sizeof(namespaces) / sizeof(namespaces[0]); i++) {
		if (has(spec, namespaces[i].layer)) {
			clone->clone.namespaces |= namespaces[i].flag;
		}
	}
	if (has(spec, LAYER_USERNS) && !maps_itself(spec)) {
		struct step *map = plan_add(plan, STEP_IDMAP);
		if (spec->ranged) {
			map->idmap.uids = plan_text(plan, "0 %u 2\n", spec->first_id);
			map->idmap.gids = map->idmap.uids;
		} else {
			map->idmap.uids = plan_text(plan, "0 %u 1\n", spec->caller_uid);
			map->idmap.gids = plan_text(plan, "0 %u 1\n", spec->caller_gid);
			map->idmap.deny_setgroups = true;
		}
	}
	if (grouped && !spec->join_by_write) {
		plan_add(plan, STEP_ATTACH);
	}
	plan_add(plan, STEP_RELEASE);
	if (grouped && spec->join_by_write) {
		plan_add(plan, STEP_CGROUP);
		plan_add(plan, STEP_GROUP);
	}
}

static void add_init_start(struct plan *plan)
{
	const struct spec *spec = plan->spec;

	plan_add(plan, STEP_AWAIT);
	if (maps_itself(spec)) {
		plan_add(plan, STEP_SELFMAP)->selfmap.line = plan_text(plan, "0 %u 1\n", KEEPER_ID);
	}
	plan_add(plan, STEP_CLOSE);
	if (has(spec, LAYER_USERNS)) {
		plan_add(plan, STEP_BECOME)->become.may_setgroups = spec->ranged;
	}
	if (has(spec, LAYER_NETNS)) {
		plan_add(plan, STEP_NET);
	}
	if (has(spec, LAYER_USERNS)) {
		static const struct {
			const char *file, *value;
		} counts[] = {
			/*
			 * inotify is counted per user of the host: one cell could use up all of it
			 */
			{ "/proc/sys/user/max_inotify_instances", "16" },
			{ "/proc/sys/user/max_inotify_watches", "4096" },
			/* only the inner one; a second barrier behind the filter */
			{ "/proc/sys/user/max_user_namespaces", "1" },
		};
		for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
			struct step *step = plan_add(plan, STEP_COUNTS);
			step->counts.file = counts[i].file;
			step->counts.content = counts[i].value;
		}
	}
	if (has(spec, LAYER_KEYRING)) {
		plan_add(plan, STEP_KEYRING);
	}
}

static void add_listener(struct plan *plan, uint16_t port, int type, const char *address)
{
	struct step *step = plan_add(plan, STEP_LISTEN);

	step->listen.port = port;
	step->listen.type = type;
	step->listen.address = address;
}

/*
 * Each address that could be allowed becomes a local address of the cell; each allowed port gets a
 * listener.
 */
static void add_gate_steps(struct plan *plan)
{
	const struct spec *spec = plan->spec;

	for (size_t i = 0; i < spec->gate_routes_count; i++) {
		char text[NET_ADDRESS_TEXT];
		struct step *step = plan_add(plan, STEP_ROUTE);
		step->route.prefix = spec->gate_routes[i];
		step->route.text = plan_text(
			plan, "%s/%u", net_address_format(&spec->gate_routes[i].address, text),
			spec->gate_routes[i].bits);
	}
	add_listener(plan, NET_DNS_PORT, SOCK_DGRAM, GATE_RESOLVER);
	add_listener(plan, NET_DNS_PORT, SOCK_STREAM, GATE_RESOLVER);
	for (size_t i = 0; i < spec->gate_ports_count; i++) {
		add_listener(plan, spec->gate_ports[i], SOCK_STREAM, NULL);
	}
	plan_add(plan, STEP_GATE)->gate.fd = spec->gate;
}

static void add_rlimits(struct plan *plan)
{
	struct rlimit_value values[RLIMITS_MAX];
	bool held = spec_traits(plan->spec)->held;
	size_t count = rlimits_of(plan->spec, held ? RLIMITS_FIXED : RLIMITS_ALL, values);

	for (size_t i = 0; i < count; i++) {
		struct step *step = plan_add(plan, STEP_RLIMIT);
		step->rlimit.name = values[i].name;
		step->rlimit.resource = values[i].resource;
		step->rlimit.value = values[i].value;
	}
}

static void add_payload_steps(struct plan *plan)
{
	const struct spec *spec = plan->spec;
	const struct cell_traits *traits = spec_traits(spec);

	plan_add(plan, STEP_SESSION);
	plan_add(plan, STEP_STDIO);
	if (has(spec, LAYER_USERNS)) {
		if (spec->ranged) {
			plan_add(plan, STEP_USER)->user.id = 1;
		}
		struct step *inner = plan_add(plan, STEP_INNER);
		inner->inner.namespaces =
			CLONE_NEWUSER | (has(spec, LAYER_MNTNS) ? CLONE_NEWNS : 0);
		inner->inner.line = plan_text(plan, "1000 %u 1\n", spec->ranged ? 1u : 0u);
	}
	plan_add(plan, STEP_WORKDIR)->workdir.path = traits->workdir;
	add_rlimits(plan);
	if (has(spec, LAYER_CAPS)) {
		plan_add(plan, STEP_CAPS);
	}
	if (has(spec, LAYER_NNP)) {
		plan_add(plan, STEP_NNP);
	}
	if (has(spec, LAYER_LANDLOCK)) {
		plan_add(plan, STEP_LANDLOCK)->landlock.abi = spec->landlock_abi;
	}
	if (spec->filter) {
		struct step *step = plan_add(plan, STEP_SECCOMP);
		step->seccomp.code = spec->filter->code;
		step->seccomp.count = spec->filter->count;
		step->seccomp.listens = has(spec, LAYER_NOTIFY);
	}
	if (!traits->executes) {
		plan_add(plan, STEP_RESUME);
	}
	plan_add(plan, STEP_GO);
	if (traits->held) {
		plan_add(plan, STEP_ASSIGN);
	}
	if (traits->has_channels) {
		plan_add(plan, STEP_CHANNEL)->channel.number = DRIVER_ASSIGNMENT_FD;
		plan_add(plan, STEP_CHANNEL)->channel.number = DRIVER_READY_FD;
	}
	if (traits->has_descriptor) {
		plan_add(plan, STEP_VALUE)->value.number = 3;
	}
	if (traits->executes) {
		plan_add(plan, STEP_EXEC)->exec.path = traits->held ? "" : spec->argv[0];
	} else {
		plan_add(plan, STEP_LETGO);
	}
}

int plan_make(const struct spec *spec, struct plan *ret, struct brig_error *err)
{
	struct plan plan = { .spec = spec, .arena_size = PLAN_ARENA_BYTES };

	/* One more than the bound: steps beyond it are written there. */
	plan.steps = calloc(PLAN_STEPS_MAX + 1, sizeof(*plan.steps));
	plan.arena = malloc(plan.arena_size);
	if (!plan.steps || !plan.arena) {
		plan_done(&plan);
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for the plan");
	}
	add_warden_steps(&plan);
	add_init_start(&plan);
	if (has(spec, LAYER_ROOTFS)) {
		plan_rootfs(&plan);
	} else if (spec->join_by_write) {
		plan_add(&plan, STEP_JOIN);
	}
	if (has(spec, LAYER_NETNS)) {
		plan_add(&plan, STEP_NETENTER);
	}
	if (has(spec, LAYER_NETNS) && has(spec, LAYER_ROOTFS) && !spec->gate_ports_count) {
		plan_add(&plan, STEP_NAMES);
	}
	if (has(spec, LAYER_ROOTFS)) {
		plan_add(&plan, STEP_HANDLES);
	}
	if (has(spec, LAYER_NETNS) && has(spec, LAYER_ROOTFS)) {
		plan_add(&plan, STEP_NETHIDE);
	}
	/* Else the agent listens, and brig passes its connections on. */
	if (spec->gate_ports_count && !spec->provider->network_by_stream) {
		add_gate_steps(&plan);
	}
	if (has(spec, LAYER_CGROUPNS)) {
		plan_add(&plan, STEP_CGROUPNS);
	}
	if (has(spec, LAYER_UTSNS)) {
		plan_add(&plan, STEP_HOSTNAME)->hostname.name = "brig";
	}
	if (has(spec, LAYER_TIMENS)) {
		plan_add(&plan, STEP_TIME);
	}
	plan_add(&plan, STEP_SPAWN);
	add_payload_steps(&plan);
	plan_add(&plan, STEP_SEAL)->seal.drop_caps = has(spec, LAYER_CAPS);
	plan_add(&plan, STEP_READY);
	if (spec_traits(spec)->held) {
		plan_add(&plan, STEP_HOLD);
	}
	plan_add(&plan, STEP_START);

	if (plan.count == PLAN_STEPS_MAX || plan.arena_used == plan.arena_size) {
		plan_done(&plan);
		return error_set(err, BRIG_E_INPUT, E2BIG,
				 "the cell needs more than %d set-up steps", PLAN_STEPS_MAX);
	}
	*ret = plan;
	return 0;
}

void plan_done(struct plan *plan)
{
	free(plan->steps);
	free(plan->arena);
	*plan = (struct plan){ 0 };
}
