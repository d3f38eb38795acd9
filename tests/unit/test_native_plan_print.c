/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan as text and JSON: every step is named, and values that change from run to run are left
 * out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <string.h>

#include "base/cleanup.h"
#include "native/plan/plan.h"

static const char *const argv[] = { "/bin/prog", "a\nb", NULL };
static const char *const envp[] = { NULL };
static const struct closure empty;

static struct spec sample(uint32_t first_id)
{
	layer_set all = (LAYER_BIT(LAYER_COUNT) - 1) & ~LAYER_BIT(LAYER_SECCOMP);

	return (struct spec){ .provider = &native_provider,
			      .layers = all,
			      .ranged = true,
			      .first_id = first_id,
			      .closure = &empty,
			      .argv = argv,
			      .envp = envp,
			      .limits = { .disk_bytes = 1 << 20, .open_files = 64, .processes = 9 },
			      .landlock_abi = 4,
			      .cpus = 2 };
}

static char *text_of(uint32_t first_id, const uint64_t *took)
{
	struct spec spec = sample(first_id);
	struct plan plan;
	struct buf out = { 0 };

	assert_int_equal(plan_make(&spec, &plan, NULL), 0);
	plan_print(&plan, took, &out);
	plan_done(&plan);
	return buf_take(&out);
}

static void test_text(void **state)
{
	_cleanup_free_ char *text = text_of(1000000, NULL);
	_cleanup_free_ char *other = text_of(2000000, NULL);

	(void)state;
	assert_string_equal(text, other);
	assert_null(strstr(text, "1000000"));
	assert_non_null(strstr(text, "user pid mount ipc uts"));
	assert_non_null(strstr(text, "/bin/prog a?b"));
	assert_non_null(strstr(text, "nofile=64"));
	assert_non_null(strstr(text, "ABI 4"));
	assert_non_null(strstr(text, "/dev/stdin -> /proc/self/fd/0"));
	assert_null(strstr(text, " us "));
}

static void test_times(void **state)
{
	static uint64_t took[PLAN_STEPS_MAX] = { 12345 };
	_cleanup_free_ char *text = text_of(1, took);

	(void)state;
	assert_non_null(strstr(text, "12.3 us   1  warden"));
}

static void test_json(void **state)
{
	static uint64_t took[PLAN_STEPS_MAX] = { 7 };
	struct spec spec = sample(5);
	struct plan plan;
	_cleanup_(buf_done)
	struct buf out = { 0 };

	(void)state;
	assert_int_equal(plan_make(&spec, &plan, NULL), 0);
	plan_print_json(&plan, took, &out);
	json_t *root = json_loads(out.data, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	json_t *steps = json_object_get(root, "steps");
	assert_int_equal(json_array_size(steps), plan.count);
	for (unsigned i = 0; i < plan.count; i++) {
		json_t *step = json_array_get(steps, i);
		assert_int_equal(json_integer_value(json_object_get(step, "number")), i + 1);
		assert_string_equal(json_string_value(json_object_get(step, "step")),
				    step_table[plan.steps[i].kind].name);
		assert_true(json_is_string(json_object_get(step, "actor")));
		assert_true(json_is_string(json_object_get(step, "why")));
		assert_int_equal(json_integer_value(json_object_get(step, "took_ns")), took[i]);
	}
	json_decref(root);
	plan_done(&plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
