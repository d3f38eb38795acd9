/* SPDX-License-Identifier: Apache-2.0 */
/* The plan: pure, complete, in the right order, and without steps that no layer needs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

#include "base/cleanup.h"
#include "native/plan/step_members.h"

static struct closure_item items[] = {
	{ CLOSURE_LINK, (char *)(uintptr_t) "/bin", (char *)(uintptr_t) "usr/bin" },
	{ CLOSURE_FILE, (char *)(uintptr_t) "/usr/bin/prog", NULL },
	{ CLOSURE_DIR, (char *)(uintptr_t) "/usr/lib", NULL },
	{ CLOSURE_DIR, (char *)(uintptr_t) "/opt/tool", NULL },
};
static const struct closure closure = { items, ARRAY_SIZE(items) };
static const char *const argv_program[] = { "/usr/bin/prog", NULL };
static const char *const no_env[] = { NULL };
static struct sock_filter allow_all[] = { { .code = BPF_RET | BPF_K, .k = SECCOMP_RET_ALLOW } };
static const struct bpf_program filter = { allow_all, 1 };

static struct spec whole_spec(void)
{
	return (struct spec){
		.provider = &native_provider,
		.layers = LAYER_BIT(LAYER_COUNT) - 1,
		.ranged = true,
		.first_id = 5000,
		.limits = { .wall_ns = 1,
			    .cpu_ns = 2000000000,
			    .memory_bytes = 1 << 20,
			    .processes = 7,
			    .disk_bytes = 1 << 20,
			    .disk_inodes = 100,
			    .open_files = 8,
			    .file_bytes = 9 },
		.closure = &closure,
		.devices = -1,
		.argv = argv_program,
		.envp = no_env,
		.filter = &filter,
		.landlock_abi = 6,
		.cpus = 2,
		.join_by_write = true,
	};
}

static int index_of(const struct plan *plan, enum step_kind kind)
{
	for (unsigned i = 0; i < plan->count; i++) {
		if (plan->steps[i].kind == kind) {
			return (int)i;
		}
	}
	return -1;
}

static unsigned count_of(const struct plan *plan, enum step_kind kind)
{
	unsigned n = 0;

	for (unsigned i = 0; i < plan->count; i++) {
		n += plan->steps[i].kind == kind;
	}
	return n;
}

/* Pairs of steps in their required order; a plan that breaks one of these is a hole. */
static const struct {
	enum step_kind first, then;
} order[] = {
	{ STEP_CLONE, STEP_CGROUP },     { STEP_CLONE, STEP_IDMAP },
	{ STEP_IDMAP, STEP_RELEASE },    { STEP_AWAIT, STEP_JOIN },
	{ STEP_AWAIT, STEP_CLOSE },      { STEP_CLOSE, STEP_BECOME },
	{ STEP_PRIVATE, STEP_ROOT },     { STEP_ROOT, STEP_OVERLAY },
	{ STEP_OVERLAY, STEP_BIND },     { STEP_BIND, STEP_PIVOT },
	{ STEP_PROC, STEP_PIVOT },       { STEP_WRITABLE, STEP_PIVOT },
	{ STEP_PIVOT, STEP_LOCKROOT },   { STEP_LOCKROOT, STEP_SPAWN },
	{ STEP_TIME, STEP_SPAWN },       { STEP_NET, STEP_NETENTER },
	{ STEP_NETENTER, STEP_SPAWN },   { STEP_JOIN, STEP_SPAWN },
	{ STEP_SPAWN, STEP_SESSION },    { STEP_SESSION, STEP_USER },
	{ STEP_USER, STEP_INNER },       { STEP_INNER, STEP_CAPS },
	{ STEP_CAPS, STEP_NNP },         { STEP_NNP, STEP_LANDLOCK },
	{ STEP_LANDLOCK, STEP_SECCOMP }, { STEP_SECCOMP, STEP_EXEC },
	{ STEP_STDIO, STEP_EXEC },       { STEP_RLIMIT, STEP_EXEC },
};

static void test_order(void **state)
{
	struct spec spec = whole_spec();
	_cleanup_(plan_done)
	struct plan plan = { 0 };

	(void)state;
	assert_int_equal(plan_make(&spec, &plan, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		int first = index_of(&plan, order[i].first);
		int then = index_of(&plan, order[i].then);
		if (first < 0 || then < 0 || first >= then) {
			fail_msg("%s must come before %s (%d, %d)", step_table[order[i].first].name,
				 step_table[order[i].then].name, first, then);
		}
	}
	/* only the wait for brig-init, and exec, follow seccomp */
	assert_int_equal(plan.steps[index_of(&plan, STEP_SECCOMP) + 1].kind, STEP_GO);
	assert_int_equal(plan.steps[index_of(&plan, STEP_SECCOMP) + 2].kind, STEP_EXEC);
	/* brig-init is sealed before it lets the program begin */
	assert_int_equal(plan.steps[plan.count - 3].kind, STEP_SEAL);
	assert_int_equal(plan.steps[plan.count - 2].kind, STEP_READY);
	assert_int_equal(plan.steps[plan.count - 1].kind, STEP_START);
}

/*
 * A cell made ahead has every wall of one that is not; the steps that depend on the request wait.
 */
static void test_held(void **state)
{
	struct spec cold = whole_spec(), held = whole_spec(), cloned = whole_spec();
	_cleanup_(plan_done)
	struct plan a = { 0 };
	_cleanup_(plan_done)
	struct plan b = { 0 };
	_cleanup_(plan_done)
	struct plan c = { 0 };

	(void)state;
	held.kind = CELL_HELD;
	cloned.kind = CELL_CLONED;
	held.argv = cloned.argv = NULL;
	assert_int_equal(plan_make(&cold, &a, NULL), 0);
	assert_int_equal(plan_make(&held, &b, NULL), 0);
	assert_int_equal(plan_make(&cloned, &c, NULL), 0);
	for (int kind = 0; kind < STEP_KINDS; kind++) {
		bool waits = kind == STEP_RLIMIT || kind == STEP_HOLD || kind == STEP_ASSIGN;
		bool begins = kind == STEP_EXEC || kind == STEP_RESUME || kind == STEP_LETGO;
		if (!waits) {
			assert_int_equal(count_of(&a, kind), count_of(&b, kind));
		}
		if (!waits && !begins) {
			assert_int_equal(count_of(&a, kind), count_of(&c, kind));
		}
	}
	assert_int_equal(count_of(&c, STEP_EXEC), 0);
	assert_int_equal(count_of(&c, STEP_RESUME), 1);
	for (int i = 0; i < 2; i++) {
		const struct plan *plan = i ? &c : &b;
		int seal = index_of(plan, STEP_SEAL);
		/* sealed on both sides before it waits for the assignment */
		assert_int_equal(plan->steps[seal + 1].kind, STEP_READY);
		assert_int_equal(plan->steps[seal + 2].kind, STEP_HOLD);
		assert_int_equal(plan->steps[seal + 3].kind, STEP_START);
		/* nothing of the request is read before */
		assert_int_equal(plan->steps[index_of(plan, STEP_SECCOMP) + 1].kind,
				 i ? STEP_RESUME : STEP_GO);
		assert_int_equal(plan->steps[index_of(plan, STEP_GO) + 1].kind, STEP_ASSIGN);
		assert_int_equal(plan->steps[index_of(plan, STEP_ASSIGN) + 1].kind,
				 i ? STEP_LETGO : STEP_EXEC);
	}
}

/* The steps by which the kinds of cell differ. */
static void test_kinds(void **state)
{
	static const struct {
		enum cell_kind kind;
		enum step_kind step;
		unsigned count;
	} wanted[] = {
		{ CELL_COLD, STEP_VALUE, 0 },    { CELL_COLD, STEP_CHANNEL, 0 },
		{ CELL_COLD, STEP_EXEC, 1 },     { CELL_COLD, STEP_HOLD, 0 },
		{ CELL_DRIVEN, STEP_VALUE, 1 },  { CELL_DRIVEN, STEP_HOLD, 0 },
		{ CELL_DRIVEN, STEP_EXEC, 1 },   { CELL_HELD, STEP_VALUE, 0 },
		{ CELL_HELD, STEP_HOLD, 1 },     { CELL_HELD, STEP_EXEC, 1 },
		{ CELL_CLONED, STEP_VALUE, 0 },  { CELL_CLONED, STEP_HOLD, 1 },
		{ CELL_CLONED, STEP_LETGO, 1 },  { CELL_STARTED, STEP_CHANNEL, 2 },
		{ CELL_STARTED, STEP_HOLD, 0 },  { CELL_STARTED, STEP_EXEC, 1 },
		{ CELL_STARTED, STEP_VALUE, 0 }, { CELL_STARTED, STEP_ASSIGN, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		struct spec spec = whole_spec();
		_cleanup_(plan_done)
		struct plan plan = { 0 };
		spec.kind = wanted[i].kind;
		assert_int_equal(plan_make(&spec, &plan, NULL), 0);
		assert_int_equal(count_of(&plan, wanted[i].step), wanted[i].count);
		const struct step *start = &plan.steps[index_of(&plan, STEP_WORKDIR)];
		assert_string_equal(start->workdir.path,
				    wanted[i].kind == CELL_STARTED ? "/" : "/sandbox");
	}
}

/* The same members, each by its own type. */
static void assert_same_step(const struct step *a, const struct step *b)
{
	const struct step_member *member = NULL;

	assert_int_equal(a->kind, b->kind);
	assert_int_equal(step_fd(a), step_fd(b));
	while ((member = step_member_next(a, member))) {
		if (member->type == MEMBER_PATH || member->type == MEMBER_TEXT) {
			const char *text = step_pointer(a, member);
			assert_true((text == NULL) == (step_pointer(b, member) == NULL));
			assert_string_equal(text ? text : "",
					    text ? (const char *)step_pointer(b, member) : "");
		}
	}
	if (a->kind == STEP_CLONE) {
		assert_true(a->clone.namespaces == b->clone.namespaces);
	}
	if (a->kind == STEP_DIR) {
		assert_int_equal(a->dir.mode, b->dir.mode);
	}
	if (a->kind == STEP_RLIMIT) {
		assert_int_equal(a->rlimit.resource, b->rlimit.resource);
		assert_true(a->rlimit.value == b->rlimit.value);
	}
	if (a->kind == STEP_BIND || a->kind == STEP_DEVICE) {
		assert_true(a->bind.attributes == b->bind.attributes);
	}
}

static void test_pure(void **state)
{
	struct spec spec = whole_spec();
	_cleanup_(plan_done)
	struct plan a = { 0 };
	_cleanup_(plan_done)
	struct plan b = { 0 };

	(void)state;
	assert_int_equal(plan_make(&spec, &a, NULL), 0);
	assert_int_equal(plan_make(&spec, &b, NULL), 0);
	assert_int_equal(a.count, b.count);
	for (unsigned i = 0; i < a.count; i++) {
		assert_same_step(&a.steps[i], &b.steps[i]);
	}
}

static void test_everything_bound_is_read_only(void **state)
{
	struct spec spec = whole_spec();
	_cleanup_(plan_done)
	struct plan plan = { 0 };
	uint64_t wanted = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV;

	(void)state;
	assert_int_equal(plan_make(&spec, &plan, NULL), 0);
	assert_int_equal(count_of(&plan, STEP_BIND), 3);
	assert_int_equal(count_of(&plan, STEP_OVERLAY), 2); /* /usr and /opt */
	assert_int_equal(count_of(&plan, STEP_DEVICE), 5);
	assert_int_equal(count_of(&plan, STEP_WRITABLE), 3);
	for (unsigned i = 0; i < plan.count; i++) {
		const struct step *step = &plan.steps[i];
		if (step->kind == STEP_BIND) {
			assert_int_equal(step->bind.attributes, wanted);
		}
		if (step->kind == STEP_DEVICE) {
			assert_true(step->bind.attributes & MOUNT_ATTR_NOSUID);
		}
		if (step->kind == STEP_WRITABLE) {
			assert_int_equal(step->writable.attributes &
						 (MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV),
					 MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
			/* exec_writable is off in this spec */
			assert_true(step->writable.attributes & MOUNT_ATTR_NOEXEC);
		}
	}
}

/* Removing a layer removes its step, and only that. */
static const struct {
	enum layer layer;
	enum step_kind step;
} layered[] = {
	{ LAYER_OVERLAY, STEP_OVERLAY },   { LAYER_TIMENS, STEP_TIME },
	{ LAYER_UTSNS, STEP_HOSTNAME },    { LAYER_KEYRING, STEP_KEYRING },
	{ LAYER_LANDLOCK, STEP_LANDLOCK }, { LAYER_CAPS, STEP_CAPS },
	{ LAYER_NNP, STEP_NNP },           { LAYER_PROC, STEP_PROC },
};

static void test_layers(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(layered); i++) {
		struct spec spec = whole_spec();
		_cleanup_(plan_done)
		struct plan with = { 0 };
		_cleanup_(plan_done)
		struct plan without = { 0 };
		assert_int_equal(plan_make(&spec, &with, NULL), 0);
		spec.layers &= ~LAYER_BIT(layered[i].layer);
		assert_int_equal(plan_make(&spec, &without, NULL), 0);
		assert_true(count_of(&with, layered[i].step) > 0);
		assert_int_equal(count_of(&without, layered[i].step), 0);
		assert_int_equal(with.count - without.count, count_of(&with, layered[i].step));
	}
}

static void test_ordinary_user(void **state)
{
	struct spec spec = whole_spec();
	_cleanup_(plan_done)
	struct plan plan = { 0 };

	(void)state;
	spec.ranged = false;
	spec.caller_uid = 1234;
	spec.caller_gid = 4321;
	assert_int_equal(plan_make(&spec, &plan, NULL), 0);
	const struct step *map = &plan.steps[index_of(&plan, STEP_IDMAP)];
	assert_string_equal(map->idmap.uids, "0 1234 1\n");
	assert_string_equal(map->idmap.gids, "0 4321 1\n");
	assert_true(map->idmap.deny_setgroups);
	assert_int_equal(index_of(&plan, STEP_USER), -1);
	assert_string_equal(plan.steps[index_of(&plan, STEP_INNER)].inner.line, "1000 0 1\n");
}

static void test_own_devices(void **state)
{
	struct spec spec = whole_spec();
	_cleanup_(plan_done)
	struct plan plan = { 0 };

	(void)state;
	spec.own_devices = true;
	spec.devices = 77;
	assert_int_equal(plan_make(&spec, &plan, NULL), 0);
	assert_int_equal(count_of(&plan, STEP_DEVICE), 0);
	const struct step *devices = &plan.steps[index_of(&plan, STEP_DEVICES)];
	assert_int_equal(devices->devices.fd, 77);
	assert_true(devices->devices.attributes & MOUNT_ATTR_RDONLY);
	assert_true(devices->devices.shm_attributes & MOUNT_ATTR_NODEV);
	assert_int_equal(count_of(&plan, STEP_WRITABLE), 2);
}

static void test_too_many_steps(void **state)
{
	static struct closure_item many[PLAN_STEPS_MAX];
	static char names[PLAN_STEPS_MAX][32];
	struct closure big = { many, ARRAY_SIZE(many) };
	struct spec spec = whole_spec();
	struct plan plan = { 0 };
	struct brig_error error = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(many); i++) {
		snprintf(names[i], sizeof(names[i]), "/usr/f%zu", i);
		many[i] = (struct closure_item){ CLOSURE_FILE, names[i], NULL };
	}
	spec.closure = &big;
	assert_true(plan_make(&spec, &plan, &error) < 0);
	assert_non_null(strstr(error.message, "steps"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_held),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_pure),
		cmocka_unit_test(test_everything_bound_is_read_only),
		cmocka_unit_test(test_layers),
		cmocka_unit_test(test_ordinary_user),
		cmocka_unit_test(test_own_devices),
		cmocka_unit_test(test_too_many_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
