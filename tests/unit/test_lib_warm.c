/* SPDX-License-Identifier: Apache-2.0 */
/* Pools: refused requests, retired pools, and runs that start without them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <brig/brig.h>

#include "kernel/sys.h"
#include "lib/context.h"
#include "lib/warm/warm.h"

#define POLICY(wall) "{ \"extends\": \"default\", \"limits\": { \"wall\": \"" wall "\" } }"

struct place {
	char dir[64];
	struct brig_context *brig;
};

static void put(const struct place *place, const char *name, const char *text)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", place->dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void take_away(const struct place *place, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", place->dir, name);
	unlink(path);
	rmdir(path);
}

static int set_up(void **state)
{
	static struct place place;
	struct brig_warm_options warm = { .size = sizeof(warm), .cells_max = 1 };
	struct brig_context_options options = { .size = sizeof(options), .warm = &warm };
	struct brig_error error = { 0 };
	char path[128];

	snprintf(place.dir, sizeof(place.dir), "/tmp/brig-warm-XXXXXX");
	assert_non_null(mkdtemp(place.dir));
	snprintf(path, sizeof(path), "%s/policies", place.dir);
	assert_int_equal(mkdir(path, 0755), 0);
	put(&place, "policies/mine.json", POLICY("20s"));
	options.config_dir = place.dir;
	assert_int_equal(brig_context_new(&options, &place.brig, &error), 0);
	*state = &place;
	return 0;
}

static int tear_down(void **state)
{
	struct place *place = *state;
	static const char *const names[] = { "policies/mine.json", "ceiling.json", "policies", "" };

	brig_context_free(place->brig);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		take_away(place, names[i]);
	}
	return 0;
}

static struct brig_request request(const char *policy)
{
	return (struct brig_request){ .size = sizeof(struct brig_request),
				      .language = "bash",
				      .code = "echo hello",
				      .policy = policy,
				      .start = BRIG_START_WARM };
}

static int run(const struct place *place, const char *policy, struct brig_result **ret,
	       struct brig_error *error)
{
	struct brig_request options = request(policy);

	return brig_execute_code(place->brig, "bash", "echo hello", &options, ret, error);
}

static void test_too_many_cells(void **state)
{
	struct place *place = *state;
	struct brig_request like = request(NULL);
	struct brig_error error = { 0 };

	assert_int_equal(brig_context_warm(place->brig, &like, 65, &error), -ERANGE);
	assert_int_equal(brig_context_warm(place->brig, &like, UINT32_MAX, &error), -ERANGE);
}

/* A command is never made ahead; a request that cannot be warm is started all the same. */
static void test_what_has_no_pool(void **state)
{
	struct place *place = *state;
	static const char *const words[] = { "/bin/echo", "hello", NULL };
	struct brig_request like = { .size = sizeof(like), .command = words };
	struct brig_error error = { 0 };
	struct brig_run *one = NULL;

	assert_int_equal(brig_context_warm(place->brig, &like, 1, &error), -ENOTSUP);
	assert_true(error.message[0] != '\0');
	assert_int_equal(brig_run_start(place->brig, &like, &one, &error), 0);
	assert_int_equal(brig_run_wait(one, &error), 0);
	struct brig_result *result = brig_run_take_result(one);
	assert_string_equal(result->start, "cold");
	assert_string_equal(result->stdout_data, "hello\n");
	brig_result_free(result);
	brig_run_free(one);
}

/* A change by the operator applies to the next request, warm or not. */
static void test_rules_change(void **state)
{
	struct place *place = *state;
	struct brig_error error = { 0 };
	struct brig_result *result = NULL;

	assert_int_equal(run(place, "mine", &result, &error), 0);
	assert_string_equal(result->start, "warm");
	assert_int_equal(result->limits.wall_ns, 20000000000u);
	brig_result_free(result);

	put(place, "policies/mine.json", POLICY("7s"));
	assert_int_equal(run(place, "mine", &result, &error), 0);
	assert_int_equal(result->limits.wall_ns, 7000000000u);
	brig_result_free(result);

	put(place, "ceiling.json", "{ \"auto_run\": \"never\" }");
	assert_true(run(place, "mine", &result, &error) < 0);
	assert_int_equal(error.code, BRIG_E_CONSENT);
}

static bool has_pool(const struct place *place, const char *tenant)
{
	const struct warm *warm = place->brig->warm;

	for (unsigned i = 0; i < warm->count; i++) {
		if (strcmp(warm->pools[i]->tenant, tenant) == 0) {
			return true;
		}
	}
	return false;
}

static void want_pool(const struct place *place, const char *tenant, uint64_t disk_bytes)
{
	struct brig_request like = request(NULL);
	struct brig_error error = { 0 };

	like.tenant = tenant;
	like.limits.disk_bytes = disk_bytes;
	if (!warm_pool_for(place->brig->warm, &like, &error)) {
		fail_msg("%s", error.message);
	}
}

/* Forty kinds of request of one tenant: only its own pools make room for them. */
static void test_tenants_keep_their_pools(void **state)
{
	struct place *place = *state;
	struct warm *warm = place->brig->warm;

	want_pool(place, "alice", 0);
	want_pool(place, "bob", 0);
	for (uint64_t i = 0; i < 40; i++) {
		want_pool(place, "mallory", (1 + i) << 20);
	}
	assert_int_equal(warm->count, warm->options.pools_max);
	assert_true(has_pool(place, "alice") && has_pool(place, "bob"));
	/*
	 * It has replaced its own pools too soon: no more are started for it, but for all others.
	 */
	for (unsigned i = 0; i < warm->count; i++) {
		bool rests = warm->pools[i]->rest_until_ns != 0;
		assert_int_equal(rests, strcmp(warm->pools[i]->tenant, "mallory") == 0);
	}
	/*
	 * A new tenant gets a pool all the same, and then another, from the tenant with the most.
	 */
	want_pool(place, "carol", 0);
	want_pool(place, "carol", 1 << 20);
	assert_int_equal(warm->count, warm->options.pools_max);
	assert_true(has_pool(place, "alice") && has_pool(place, "bob") && has_pool(place, "carol"));
	assert_int_equal(warm->pools[warm->count - 1]->rest_until_ns, 0);
}

/* A pool that becomes smaller does not wait until the kernel has removed its cells. */
static void test_smaller_pools_do_not_wait(void **state)
{
	struct place *place = *state;
	struct warm *warm = place->brig->warm;
	struct brig_request like = request(NULL);
	struct brig_error error = { 0 };

	warm->options.cells_max = 4;
	if (brig_context_warm(place->brig, &like, 4, &error) < 0) {
		fail_msg("%s", error.message);
	}
	assert_int_equal(warm->ended_count, 0);
	warm->pools[0]->target = 0;
	warm_step(warm, WARM_ALL_PIECES);
	assert_int_equal(warm->pools[0]->count, 0);
	assert_true(warm->ended_count > 0);
}

/* As many cells as they like, up to an even part of the memory. */
static void test_tenants_share_memory(void **state)
{
	struct place *place = *state;
	struct warm *warm = place->brig->warm;

	warm->options.memory_bytes = 12 << 20;
	warm->options.cells_max = 64;
	want_pool(place, "mallory", 0);
	warm->pools[0]->target = 64;
	assert_int_equal(warm_size_target(warm->pools[0], warm->pools[0]->used_ns), 8);
	want_pool(place, "alice", 0);
	warm->pools[1]->target = 2;
	assert_int_equal(warm_size_target(warm->pools[0], warm->pools[0]->used_ns), 4);
	assert_int_equal(warm_size_target(warm->pools[1], warm->pools[1]->used_ns), 2);
}

/* An interpreter that waits has memory of its own, in any kind of cell. */
static void test_waiting_interpreters_count(void **state)
{
	struct place *place = *state;
	struct warm *warm = place->brig->warm;
	static const struct spec_waiting waiting = { .name = "code.py" };

	warm->options.memory_bytes = 32 << 20;
	warm->options.cells_max = 64;
	want_pool(place, "mallory", 0);
	warm->pools[0]->target = 64;
	warm->pools[0]->base.spec.waiting = &waiting;
	assert_int_equal(warm_size_target(warm->pools[0], warm->pools[0]->used_ns), 4);
	warm->pools[0]->base.spec.waiting = NULL;
}

static uint64_t held_bytes(const struct spec *spec)
{
	return spec->limits.memory_bytes / 2;
}

static unsigned size_with(struct warm_pool *pool, const struct provider *provider)
{
	const struct provider *before = pool->base.spec.provider;

	pool->base.spec.provider = provider;
	unsigned size = warm_size_target(pool, pool->used_ns);
	pool->base.spec.provider = before;
	return size;
}

/* A cell with a kernel of its own counts with it; what it counts may depend on its limits. */
static void test_kernels_count(void **state)
{
	struct place *place = *state;
	struct warm *warm = place->brig->warm;
	struct provider heavy = { .held_bytes = held_bytes };
	struct brig_warm_options usual = { .size = sizeof(usual) };

	warm_options_complete(&usual);
	warm->options.memory_bytes = usual.memory_bytes;
	warm->options.cells_max = 64;
	want_pool(place, "alice", 0);
	struct warm_pool *pool = warm->pools[0];
	pool->target = 64;
	assert_int_equal(size_with(pool, pool->base.spec.provider), 64);
	pool->base.spec.limits.memory_bytes = 509ull << 20;
	assert_int_equal(size_with(pool, &heavy), 4);
	pool->base.spec.limits.memory_bytes = 256ull << 20;
	assert_int_equal(size_with(pool, &vm_provider), 4);
	assert_int_equal(size_with(pool, &gvisor_provider), 15);
}

/* How many pools there are, after a request with such limits. */
static unsigned pools_with(struct place *place, uint64_t memory_bytes, uint64_t processes)
{
	struct brig_request like = request(NULL);
	struct brig_error error = { 0 };

	like.limits.memory_bytes = memory_bytes;
	like.limits.processes = processes;
	assert_non_null(warm_pool_for(place->brig->warm, &like, &error));
	return place->brig->warm->count;
}

/* A cell that gets its limits with the request serves all of them, and others only their own. */
static void test_fixed_limits(void **state)
{
	struct place *place = *state;
	struct warm *warm = place->brig->warm;

	want_pool(place, NULL, 0);
	assert_int_equal(pools_with(place, 64 << 20, 7), 1);
	struct prepared *base = &warm->pools[0]->base;
	struct provider fixed = *base->spec.provider;
	const struct brig_limits *limits = &base->spec.limits;
	fixed.fixed_limits = LAYER_BIT(LAYER_CGROUP_MEMORY) | LAYER_BIT(LAYER_CGROUP_PIDS);
	assert_true(warm_pool_keeps(&fixed, limits, limits));
	/* One limit at a time. */
	for (int i = 0; i < 2; i++) {
		struct brig_limits other = *limits;
		*(i ? &other.memory_bytes : &other.processes) += 1;
		assert_true(warm_pool_keeps(base->spec.provider, limits, &other));
		assert_false(warm_pool_keeps(&fixed, limits, &other));
	}
	assert_false(warm_pool_keeps(&vm_provider, limits, &(struct brig_limits){ 0 }));
	assert_false(warm_pool_keeps(&docker_provider, limits, &(struct brig_limits){ 0 }));
	assert_false(warm_pool_keeps(&podman_provider, limits, &(struct brig_limits){ 0 }));
	assert_false(warm_pool_keeps(&gvisor_provider, limits, &(struct brig_limits){ 0 }));
	assert_true(warm_pool_keeps(&oci_provider, limits, &(struct brig_limits){ 0 }));
}

/* Cells that always end while they wait are not made again and again. */
static void test_cells_that_do_not_last(void **state)
{
	struct place *place = *state;
	struct warm *warm = place->brig->warm;
	struct brig_error error = { 0 };
	unsigned made = 0;

	want_pool(place, "mallory", 0);
	struct warm_pool *pool = warm->pools[0];
	for (; made < 10 && warm_pool_wait(pool, 1, &error) == 0; made++) {
		unsigned before = pool->failures;
		int end = pool->cells[0]->run->end_fd;
		assert_int_equal(sys_pidfd_send_signal(end, SIGKILL), 0);
		while (pool->failures == before && pool->rest_until_ns == 0) {
			struct pollfd ready = { .fd = warm->epoll, .events = POLLIN };
			poll(&ready, 1, 1000);
			warm_step(warm, WARM_ALL_PIECES);
		}
	}
	assert_int_equal(made, 3);
	assert_true(pool->rest_until_ns > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_too_many_cells, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_has_no_pool, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_rules_change, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_tenants_keep_their_pools, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_tenants_share_memory, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_kernels_count, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_fixed_limits, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_waiting_interpreters_count, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_cells_that_do_not_last, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_smaller_pools_do_not_wait, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
