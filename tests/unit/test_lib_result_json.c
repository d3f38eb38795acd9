/* SPDX-License-Identifier: Apache-2.0 */
/* The result object: every field, escapes, base64; and the names of statuses and codes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"

static json_t *parsed(char *text)
{
	json_t *root;

	assert_non_null(text);
	assert_null(strchr(text, '\n'));
	root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	free(text);
	return root;
}

static struct brig_result *sample(void)
{
	struct brig_result *result = calloc(1, sizeof(*result));

	memcpy(result->id, "01ARZ3NDEKTSV4RRFFQ69G5FAV", sizeof(result->id));
	result->exit_code = -1;
	result->stdout_data = strdup("caf\xc3\xa9\n\x1b[0m");
	result->stdout_size = strlen(result->stdout_data);
	result->stderr_data = strdup("");
	snprintf(result->cause, sizeof(result->cause), "exit");
	snprintf(result->policy, sizeof(result->policy), "default@sha256:00");
	snprintf(result->provider, sizeof(result->provider), "native");
	snprintf(result->start, sizeof(result->start), "cold");
	return result;
}

static const char *text_at(json_t *root, const char *key)
{
	return json_string_value(json_object_get(root, key));
}

static void test_plain(void **state)
{
	struct brig_result *result = sample();

	(void)state;
	result->exit_code = 0;
	result->usage.wall_ns = 1900400;
	snprintf(result->means, sizeof(result->means), "wall=timer memory=cgroup2");
	snprintf(result->layers, sizeof(result->layers), "userns pidns");
	json_t *root = parsed(brig_result_json(result));
	assert_string_equal(text_at(root, "status"), "ok");
	assert_int_equal(json_integer_value(json_object_get(root, "exit_code")), 0);
	assert_true(json_is_null(json_object_get(root, "signal")));
	assert_string_equal(text_at(root, "stdout"), "caf\xc3\xa9\n\x1b[0m");
	assert_string_equal(text_at(root, "encoding"), "utf-8");
	assert_true(json_is_null(json_object_get(root, "value")));
	assert_null(json_object_get(root, "changes"));
	assert_true(json_is_null(json_object_get(root, "runtime")));
	assert_true(json_number_value(json_object_get(root, "duration_ms")) > 1.899 &&
		    json_number_value(json_object_get(root, "duration_ms")) < 1.901);
	assert_string_equal(text_at(json_object_get(root, "means"), "memory"), "cgroup2");
	assert_int_equal(json_array_size(json_object_get(root, "layers")), 2);
	assert_true(json_is_null(json_object_get(json_object_get(root, "verdict"), "limit")));
	json_decref(root);
	brig_result_free(result);
}

static void test_limit(void **state)
{
	struct brig_result *result = sample();

	(void)state;
	result->status = BRIG_TIMEOUT;
	result->limits.wall_ns = 500000000;
	result->limit = 500000000;
	result->peak = 501000000;
	snprintf(result->limit_name, sizeof(result->limit_name), "wall_ms");
	snprintf(result->remedy, sizeof(result->remedy), "Do less.");
	json_t *root = parsed(brig_result_json(result));
	json_t *verdict = json_object_get(root, "verdict");
	assert_true(json_is_null(json_object_get(root, "exit_code")));
	assert_string_equal(text_at(verdict, "limit_name"), "wall_ms");
	assert_int_equal(json_integer_value(json_object_get(verdict, "limit")), 500);
	assert_int_equal(json_integer_value(json_object_get(verdict, "peak")), 501);
	assert_string_equal(text_at(verdict, "remedy"), "Do less.");
	assert_true(json_is_null(json_object_get(verdict, "operator_remedy")));
	json_t *limits = json_object_get(root, "limits");
	assert_int_equal(json_integer_value(json_object_get(limits, "wall_ms")), 500);
	assert_int_equal(json_object_size(limits), 14);
	json_decref(root);
	brig_result_free(result);
}

static void test_binary(void **state)
{
	struct brig_result *result = sample();

	(void)state;
	free(result->stderr_data);
	result->stderr_data = malloc(2);
	memcpy(result->stderr_data, "\xff\x00", 2);
	result->stderr_size = 2;
	json_t *root = parsed(brig_result_json(result));
	assert_string_equal(text_at(root, "encoding"), "base64");
	assert_string_equal(text_at(root, "stderr"), "/wA=");
	assert_string_equal(text_at(root, "stdout"), "Y2Fmw6kKG1swbQ==");
	json_decref(root);
	brig_result_free(result);
}

static void test_lists(void **state)
{
	struct brig_result *result = sample();

	(void)state;
	result->files = calloc(1, sizeof(*result->files));
	result->files_count = 1;
	result->files[0].path = strdup("out/a\n\"b");
	result->files[0].data = strdup("hi");
	result->files[0].size = 2;
	result->files[0].executable = true;
	result->files_note = strdup("one is missing");
	result->changes_reported = true;
	result->changes = calloc(1, sizeof(*result->changes));
	result->changes_count = 1;
	result->changes[0] = (struct brig_change){ .path = strdup("gone"), .kind = 'd' };
	result->value_json = strdup("{\"a\":[1,2]}");
	result->denied = true;
	result->denial.count = 3;
	snprintf(result->denial.call, sizeof(result->denial.call), "ptrace");
	json_t *root = parsed(brig_result_json(result));
	json_t *file = json_array_get(json_object_get(root, "files"), 0);
	assert_string_equal(text_at(file, "path"), "out/a\n\"b");
	assert_string_equal(text_at(file, "content_base64"), "aGk=");
	assert_true(json_is_true(json_object_get(file, "executable")));
	assert_string_equal(text_at(root, "files_note"), "one is missing");
	json_t *change = json_array_get(json_object_get(root, "changes"), 0);
	assert_string_equal(text_at(change, "kind"), "deleted");
	assert_true(json_is_null(json_object_get(change, "sha256")));
	assert_int_equal(json_object_size(json_object_get(root, "value")), 1);
	json_t *denial = json_object_get(json_object_get(root, "verdict"), "denial");
	assert_string_equal(text_at(denial, "call"), "ptrace");
	assert_int_equal(json_integer_value(json_object_get(denial, "count")), 3);
	json_decref(root);
	brig_result_free(result);
}

static void test_error(void **state)
{
	struct brig_error error = { 0 };

	(void)state;
	error_set(&error, BRIG_E_POLICY, 22, "no \"such\" thing");
	json_t *root = parsed(brig_error_json(&error));
	json_t *inner = json_object_get(root, "error");
	assert_string_equal(text_at(inner, "code"), "policy");
	assert_string_equal(text_at(inner, "message"), "no \"such\" thing");
	assert_true(json_is_null(json_object_get(inner, "remedy")));
	assert_true(json_is_null(json_object_get(inner, "step")));
	json_decref(root);
}

/* Every name of a status is in the schema. */
static void test_schema(void **state)
{
	json_t *schema = json_loads(brig_result_schema(), JSON_REJECT_DUPLICATES, NULL);
	json_t *names;

	(void)state;
	assert_non_null(schema);
	names = json_object_get(json_object_get(json_object_get(schema, "properties"), "status"),
				"enum");
	assert_int_equal(json_array_size(names), BRIG_ERROR + 1);
	for (int i = 0; i <= BRIG_ERROR; i++) {
		assert_string_equal(json_string_value(json_array_get(names, (size_t)i)),
				    brig_status_name((enum brig_status)i));
	}
	assert_string_equal(brig_status_name((enum brig_status)99), "error");
	assert_string_equal(brig_code_name((enum brig_code)99), "system");
	json_decref(schema);
}

static void test_free_null(void **state)
{
	(void)state;
	brig_result_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),     cmocka_unit_test(test_limit),
		cmocka_unit_test(test_binary),    cmocka_unit_test(test_lists),
		cmocka_unit_test(test_error),     cmocka_unit_test(test_schema),
		cmocka_unit_test(test_free_null),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
