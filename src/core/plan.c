/*
 * plan_make(): from a spec to the ordered list of steps. Pure: it reads nothing but the spec, so
 * the same spec always gives the same plan, and `brig explain` shows exactly what a run will do.
 */
#include "core/plan.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "core/plan_rootfs.h"

/* Room for texts that the plan makes itself; closure paths are borrowed from the spec. */
#define PLAN_ARENA_BYTES 16384

struct step *plan_add(struct plan *plan, enum step_kind kind)
{
	/*
	 * The bound is far above any real plan; a spec that gets there is refused, see plan_make.
	 */
	if (plan->count == PLAN_STEPS_MAX) {
		return &plan->steps[PLAN_STEPS_MAX];
	}
	struct step *step = &plan->steps[plan->count++];
	*step = (struct step){ .kind = kind, .fd = -1 };
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
		plan->arena_used = plan->arena_size; /* seen by plan_make */
		return "";
	}
	plan->arena_used += (size_t)n + 1;
	return at;
}

/* Which layer asks for which namespace. */
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

static void add_warden_steps(struct plan *plan)
{
	const struct spec *spec = plan->spec;
	layer_set cgroups = LAYER_BIT(LAYER_CGROUP_MEMORY) | LAYER_BIT(LAYER_CGROUP_PIDS) |
			    LAYER_BIT(LAYER_CGROUP_CPU);
	bool grouped = (spec->layers & cgroups) != 0;

	/* Where the child writes itself in, the group is made while the child is already busy. */
	if (grouped && !spec->join_by_write) {
		plan_add(plan, STEP_CGROUP);
	}
	struct step *clone = plan_add(plan, STEP_CLONE);
	for (size_t i = 0; i < sizeof(namespaces) / sizeof(namespaces[0]); i++) {
		if (has(spec, namespaces[i].layer)) {
			clone->flags |= namespaces[i].flag;
		}
	}
	if (has(spec, LAYER_USERNS)) {
		struct step *map = plan_add(plan, STEP_IDMAP);
		if (spec->ranged) {
			map->text = plan_text(plan, "0 %u 2\n", spec->first_id);
			map->path = map->text;
		} else {
			map->text = plan_text(plan, "0 %u 1\n", spec->caller_uid);
			map->path = plan_text(plan, "0 %u 1\n", spec->caller_gid);
			map->value = 1; /* setgroups must be denied first */
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
	plan_add(plan, STEP_CLOSE);
	if (has(spec, LAYER_USERNS)) {
		plan_add(plan, STEP_BECOME)->value = spec->ranged;
	}
	if (has(spec, LAYER_NETNS)) {
		plan_add(plan, STEP_NET);
	}
	if (has(spec, LAYER_USERNS)) {
		static const struct {
			const char *file, *value;
		} counts[] = {
			/*
			 * inotify is counted for the user who made the cell: one could use up all
			 */
			{ "/proc/sys/user/max_inotify_instances", "16" },
			{ "/proc/sys/user/max_inotify_watches", "4096" },
			/* the inner one is all; a second wall behind the filter */
			{ "/proc/sys/user/max_user_namespaces", "1" },
		};
		for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
			struct step *step = plan_add(plan, STEP_COUNTS);
			step->path = counts[i].file;
			step->text = counts[i].value;
		}
	}
	if (has(spec, LAYER_KEYRING)) {
		plan_add(plan, STEP_KEYRING);
	}
}

static void add_rlimit(struct plan *plan, const char *name, int resource, uint64_t value)
{
	struct step *step = plan_add(plan, STEP_RLIMIT);

	step->text = name;
	step->flags = (uint64_t)resource;
	step->value = value;
}

static void add_rlimits(struct plan *plan)
{
	const struct brig_limits *limits = &plan->spec->limits;

	/* 1, not 0: only 1 also stops a core_pattern that pipes to a helper of the host. */
	add_rlimit(plan, "core", RLIMIT_CORE, 1);
	add_rlimit(plan, "nofile", RLIMIT_NOFILE, limits->open_files);
	add_rlimit(plan, "fsize", RLIMIT_FSIZE, limits->file_bytes);
	/*
	 * A back-stop for the cell-wide watch: one second of grace, then the kernel itself kills.
	 */
	add_rlimit(plan, "cpu", RLIMIT_CPU, limits->cpu_ns / 1000000000u + 2);
	add_rlimit(plan, "memlock", RLIMIT_MEMLOCK, 65536);
	add_rlimit(plan, "msgqueue", RLIMIT_MSGQUEUE, 819200);
	add_rlimit(plan, "sigpending", RLIMIT_SIGPENDING, 1024);
	add_rlimit(plan, "stack", RLIMIT_STACK, 8u << 20);
	add_rlimit(plan, "nice", RLIMIT_NICE, 0);
	add_rlimit(plan, "rtprio", RLIMIT_RTPRIO, 0);
	if (plan->spec->watch_memory) {
		add_rlimit(plan, "data", RLIMIT_DATA, limits->memory_bytes);
	}
	/*
	 * Counted per user namespace since 5.14, so for the cell alone, even when the outer id is
	 * shared. Not set for trusted local runs: there it would count the caller's own processes.
	 */
	if (has(plan->spec, LAYER_USERNS)) {
		/*
		 * Above the group's own limit where there is one: that one can tell that it was
		 * hit.
		 */
		uint64_t slack = plan->spec->watch_processes ? 0 : 8;
		add_rlimit(plan, "nproc", RLIMIT_NPROC, limits->processes + slack);
	}
}

static void add_payload_steps(struct plan *plan)
{
	const struct spec *spec = plan->spec;

	plan_add(plan, STEP_SESSION);
	plan_add(plan, STEP_STDIO);
	if (has(spec, LAYER_USERNS)) {
		if (spec->ranged) {
			plan_add(plan, STEP_USER)->value = 1;
		}
		struct step *inner = plan_add(plan, STEP_INNER);
		inner->flags = CLONE_NEWUSER | (has(spec, LAYER_MNTNS) ? CLONE_NEWNS : 0);
		inner->text = plan_text(plan, "1000 %u 1\n", spec->ranged ? 1u : 0u);
	}
	plan_add(plan, STEP_WORKDIR)->path = spec->workdir ? spec->workdir : "/sandbox";
	add_rlimits(plan);
	if (has(spec, LAYER_CAPS)) {
		plan_add(plan, STEP_CAPS);
	}
	if (has(spec, LAYER_NNP)) {
		plan_add(plan, STEP_NNP);
	}
	if (has(spec, LAYER_LANDLOCK)) {
		plan_add(plan, STEP_LANDLOCK)->value = (uint64_t)spec->landlock_abi;
	}
	if (spec->filter) {
		struct step *step = plan_add(plan, STEP_SECCOMP);
		step->data = spec->filter->code;
		step->size = spec->filter->count;
		step->value = has(spec, LAYER_NOTIFY);
	}
	plan_add(plan, STEP_GO);
	struct step *exec = plan_add(plan, STEP_EXEC);
	exec->path = spec->argv[0];
}

int plan_make(const struct spec *spec, struct plan *ret, struct brig_error *err)
{
	struct plan plan = { .spec = spec, .arena_size = PLAN_ARENA_BYTES };

	/* One more than the bound: where steps beyond it go. */
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
	if (has(spec, LAYER_CGROUPNS)) {
		plan_add(&plan, STEP_CGROUPNS);
	}
	if (has(spec, LAYER_UTSNS)) {
		plan_add(&plan, STEP_HOSTNAME)->text = "brig";
	}
	if (has(spec, LAYER_TIMENS)) {
		plan_add(&plan, STEP_TIME);
	}
	if (!has(spec, LAYER_PIDNS)) {
		plan_add(&plan, STEP_SUBREAPER);
	}
	plan_add(&plan, STEP_SPAWN);
	add_payload_steps(&plan);
	plan_add(&plan, STEP_SEAL)->value = has(spec, LAYER_CAPS);
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
