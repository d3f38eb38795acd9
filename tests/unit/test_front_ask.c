/* SPDX-License-Identifier: Apache-2.0 */
/* A request as JSON: how it is read, and which are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "front/request/execution_request.h"

static struct execution_request *parse(enum execution_request_kind kind, const char *text)
{
	struct problem problem = { 0 };
	struct execution_request *request = NULL;

	if (execution_request_parse(kind, text, strlen(text), &request, &problem) < 0) {
		print_message("%s\n", problem.detail);
		fail();
	}
	return request;
}

static void test_all_fields(void **state)
{
	struct execution_request *request = parse(
		EXECUTION_REQUEST_RUN,
		"{\"code\":\"print(1)\",\"language\":\"bash\",\"policy\":\"strict\",\"timeout_ms\":"
		"1.5,"
		"\"limits\":{\"memory_bytes\":1000,\"cpu_ms\":20,\"processes\":3},"
		"\"env\":{\"A\":\"1\",\"B\":\"\"},\"args\":[\"x\",\"\"],\"out\":[\"*.c\"],"
		"\"stdin_base64\":\"AP8=\",\"files\":[{\"path\":\"a/b\",\"content\":\"hi\","
		"\"executable\":true},{\"path\":\"c\",\"content_base64\":\"\"}],"
		"\"want_value\":false,\"changes\":true,\"start\":\"cold\",\"session\":\"s-1\","
		"\"stream\":true}");
	const struct brig_request *run = &request->call.run;

	(void)state;
	assert_int_equal(request->call.op, ENGINE_EXECUTE);
	assert_string_equal(run->code, "print(1)");
	assert_int_equal(run->code_size, 8);
	assert_string_equal(run->language, "bash");
	assert_string_equal(run->policy, "strict");
	assert_int_equal(run->limits.wall_ns, 1500000);
	assert_int_equal(run->limits.cpu_ns, 20000000);
	assert_int_equal(run->limits.memory_bytes, 1000);
	assert_int_equal(run->limits.processes, 3);
	assert_string_equal(run->env[0], "A=1");
	assert_string_equal(run->env[1], "B=");
	assert_null(run->env[2]);
	assert_string_equal(run->args[1], "");
	assert_null(run->args[2]);
	assert_string_equal(run->out[0], "*.c");
	assert_int_equal(run->stdin_size, 2);
	assert_memory_equal(run->stdin_data, "\0\xff", 2);
	assert_int_equal(run->files_count, 2);
	assert_string_equal(run->files[0].name, "a/b");
	assert_true(run->files[0].executable);
	assert_int_equal(run->files[0].size, 2);
	assert_int_equal(run->files[1].size, 0);
	assert_non_null(run->files[1].data);
	assert_false(run->want_value);
	assert_true(run->changes);
	assert_int_equal(run->start, BRIG_START_COLD);
	assert_string_equal(request->call.session, "s-1");
	assert_true(request->stream);
	execution_request_free(request);
}

static void test_usual_values(void **state)
{
	struct execution_request *request = parse(EXECUTION_REQUEST_RUN, "{\"code\":\"1\"}");

	(void)state;
	assert_string_equal(request->call.run.language, "python");
	assert_null(request->call.run.policy);
	assert_true(request->call.run.want_value);
	assert_null(request->call.session);
	assert_null(request->call.run.files);
	/* In a session the session's language applies, unless one is given. */
	assert_int_equal(execution_request_in_session(request, "abc"), 0);
	assert_null(request->call.run.language);
	assert_string_equal(request->call.session, "abc");
	execution_request_free(request);
}

static void test_sessions(void **state)
{
	struct execution_request *request = parse(
		EXECUTION_REQUEST_SESSION, "{\"idle_timeout_ms\":5000,\"lifetime_ms\":60000}");

	(void)state;
	assert_int_equal(request->call.idle_ns, UINT64_C(5000000000));
	assert_int_equal(request->call.life_ns, UINT64_C(60000000000));
	execution_request_free(request);
	execution_request_free(parse(EXECUTION_REQUEST_CHECK, "{}"));
}

static void test_overlay(void **state)
{
	struct execution_request *request = parse(
		EXECUTION_REQUEST_RUN, "{\"code\":\"1\",\"stdin\":\"own\",\"args\":[\"own\"]}");
	struct problem problem = { 0 };
	json_t *input = json_loads("{\"stdin\":\"new\"}", 0, NULL);
	json_t *wrong = json_loads("{\"code\":\"2\"}", 0, NULL);

	(void)state;
	assert_int_equal(execution_request_overlay(request, input, "inputs[0]", &problem), 0);
	assert_string_equal(request->call.run.stdin_data, "new");
	assert_string_equal(request->call.run.args[0], "own");
	assert_true(execution_request_overlay(request, wrong, "inputs[1]", &problem) < 0);
	assert_non_null(strstr(problem.detail, "inputs[1].code"));
	execution_request_free(request);
	json_decref(input);
	json_decref(wrong);
}

/* The policy states the range; a value below it must not become "as the policy says". */
static void test_wrong_limits_reach_the_policy(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} times[] = { { "-1", 1 },     { "0", 1 },    { "0.5", 500000 },
		      { "-1e300", 1 }, { "1e-9", 1 }, { "1e300", UINT64_C(1000000000000000000) } };
	char text[96];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		snprintf(text, sizeof(text), "{\"code\":\"a\",\"timeout_ms\":%s}", times[i].text);
		struct execution_request *request = parse(EXECUTION_REQUEST_RUN, text);
		assert_int_equal(request->call.run.limits.wall_ns, times[i].ns);
		execution_request_free(request);
	}
	struct execution_request *request =
		parse(EXECUTION_REQUEST_RUN, "{\"code\":\"a\",\"limits\":{\"memory_bytes\":-7}}");
	assert_int_equal(request->call.run.limits.memory_bytes, 1);
	execution_request_free(request);
}

struct refused {
	const char *text;
	enum problem_kind kind;
	const char *named;
};

static const struct refused refused[] = {
	{ "", PROBLEM_INVALID_JSON, "empty" },
	{ "[]", PROBLEM_INVALID_JSON, "object" },
	{ "{\"code\":\"a\",\"code\":\"b\"}", PROBLEM_INVALID_JSON, "duplicate" },
	{ "{\"code\":\"a\"} x", PROBLEM_INVALID_JSON, "line 1" },
	{ "{}", PROBLEM_INVALID_REQUEST, "code" },
	{ "{\"code\":\"\"}", PROBLEM_INVALID_REQUEST, "empty" },
	{ "{\"code\":\"a\",\"cod\":\"b\"}", PROBLEM_INVALID_REQUEST, "cod" },
	{ "{\"code\":\"a\",\"timeout_ms\":\"1\"}", PROBLEM_INVALID_REQUEST, "timeout_ms" },
	{ "{\"code\":\"a\",\"limits\":{\"processes\":0}}", PROBLEM_INVALID_REQUEST,
	  "limits.processes" },
	{ "{\"code\":\"a\",\"limits\":{\"processes\":1.5}}", PROBLEM_INVALID_REQUEST,
	  "limits.processes" },
	{ "{\"code\":\"a\",\"files\":[{\"path\":\"../a\",\"content\":\"\"}]}",
	  PROBLEM_INVALID_REQUEST, "files[0].path" },
	{ "{\"code\":\"a\",\"stdin_base64\":\"a===\"}", PROBLEM_INVALID_REQUEST, "stdin_base64" },
};

static void test_refusals_name_the_field(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		struct problem problem = { 0 };
		struct execution_request *request = NULL;

		assert_true(execution_request_parse(EXECUTION_REQUEST_RUN, refused[i].text,
						    strlen(refused[i].text), &request,
						    &problem) < 0);
		assert_null(request);
		assert_int_equal(problem.kind, refused[i].kind);
		assert_non_null(strstr(problem.detail, refused[i].named));
	}
}

static void test_depth_and_items_are_bounded(void **state)
{
	enum { SIZE = 400000 };
	char *text = malloc(SIZE);
	struct problem problem = { 0 };
	struct execution_request *request = NULL;

	(void)state;
	assert_non_null(text);
	memset(text, '[', SIZE);
	assert_true(execution_request_parse(EXECUTION_REQUEST_RUN, text, SIZE, &request, &problem) <
		    0);
	assert_non_null(strstr(problem.detail, "deep"));
	memset(text, ',', SIZE);
	assert_true(execution_request_parse(EXECUTION_REQUEST_RUN, text, SIZE, &request, &problem) <
		    0);
	assert_non_null(strstr(problem.detail, "values"));
	/* Brackets inside of strings do not count. */
	memset(text, '[', SIZE);
	memcpy(text, "{\"code\":\"", 9);
	memcpy(text + SIZE - 2, "\"}", 2);
	assert_int_equal(
		execution_request_parse(EXECUTION_REQUEST_RUN, text, SIZE, &request, &problem), 0);
	assert_int_equal(request->call.run.code_size, SIZE - 11);
	execution_request_free(request);
	free(text);
}

static void test_file_names(void **state)
{
	static const char *const good[] = {
		"a", "a/b.c", ".hidden", "a-b", "ä", "console", "comx"
	};
	static const char *const bad[] = { "",     "/a",  "..",        "a/..", "-a",
					   "a/-b", "con", "CON.x",     "nul",  "lpt1",
					   "a\\b", "C:x", "e\xcc\x81", "a " };
	const char *why = NULL;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_true(file_name_is_valid(good[i], &why));
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		why = NULL;
		assert_false(file_name_is_valid(bad[i], &why));
		assert_non_null(why);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_fields),
		cmocka_unit_test(test_usual_values),
		cmocka_unit_test(test_sessions),
		cmocka_unit_test(test_overlay),
		cmocka_unit_test(test_wrong_limits_reach_the_policy),
		cmocka_unit_test(test_refusals_name_the_field),
		cmocka_unit_test(test_depth_and_items_are_bounded),
		cmocka_unit_test(test_file_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
