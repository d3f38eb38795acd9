/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: state that survives from run to run, and the limits of a run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <string.h>

#include <brig/brig.h>

#include "session_fixture.h"

/* --- what survives -------------------------------------------------------------------------- */

static void check_python(struct brig_context *context)
{
	struct brig_session *session = open_session(context, "python");

	expect(session, "x = 5\ndef f(a): return a + x", BRIG_OK, "", NULL);
	expect(session, "print(x); f(2)", BRIG_OK, "5\n", "7");
	expect(session, "open('f', 'w').write('hi')", BRIG_OK, "", "2");
	expect(session, "import sys, os; sys.exit(3)", BRIG_FAILED, "", NULL);
	expect(session, "open('f').read(), sorted(os.listdir('.'))", BRIG_OK, "",
	       "[\"hi\",[\"f\",\"out\"]]");
	expect(session, "object()", BRIG_OK, "", NULL);
	struct brig_result *result = run_code(session, "def g():\n  return 1/0\ng()", 0);
	assert_int_equal(result->status, BRIG_FAILED);
	assert_int_equal(result->exit_code, 1);
	assert_non_null(strstr(result->stderr_data, "File \"<run-7>\", line 2, in g"));
	assert_non_null(strstr(result->stderr_data, "return 1/0"));
	assert_null(strstr(result->stderr_data, "session.py"));
	brig_result_free(result);

	const char *const args[] = { "a b", "c", NULL };
	struct brig_request request = { .size = sizeof(request),
					.code = "input() + input() + sys.argv[1]",
					.stdin_data = "one\ntwo\n",
					.stdin_size = 8,
					.args = args,
					.want_value = true };
	result = run_request(session, &request);
	assert_string_equal(result->value_json, "\"onetwoa b\"");
	brig_result_free(result);
	result = run_code(session, "input()", 0);
	assert_non_null(strstr(result->stderr_data, "EOFError"));
	brig_result_free(result);
	expect_alive(session);
	brig_session_close(session);
}

static void test_python(void **state)
{
	struct brig_context *context = new_context(false);

	(void)state;
	check_python(context);
	brig_context_free(context);
}

static void test_python_warm(void **state)
{
	struct brig_context *context = new_context(true);
	struct brig_request like = { .size = sizeof(like), .language = "python", .code = "0" };
	struct brig_error error = { 0 };

	(void)state;
	if (brig_context_warm(context, &like, 2, &error) == 0) {
		check_python(context);
		check_python(context);
	}
	brig_context_free(context);
}

static void test_javascript(void **state)
{
	struct brig_context *context = new_context(false);
	struct brig_session *session = open_session(context, "javascript");

	(void)state;
	expect(session, "let x = 5; const y = {a: [1]}; function f(a) { return a + x }", BRIG_OK,
	       "", NULL);
	expect(session, "console.log(x); f(2)", BRIG_OK, "5\n", "7");
	expect(session, "const z = await Promise.resolve(9); z + y.a[0]", BRIG_OK, "", "10");
	expect(session, "process.exit(3)", BRIG_FAILED, "", NULL);
	expect(session, "z", BRIG_OK, "", "9");
	struct brig_result *result = run_code(session, "function g() { nosuch() }\ng()", 0);
	assert_int_equal(result->status, BRIG_FAILED);
	assert_non_null(strstr(result->stderr_data, "<run-6>:1:16"));
	brig_result_free(result);
	result = run_code(session, "for (;;) {}", 300);
	assert_int_equal(result->status, BRIG_TIMEOUT);
	brig_result_free(result);
	result = run_code(session, "await new Promise(() => 0)", 300);
	assert_int_equal(result->status, BRIG_TIMEOUT);
	brig_result_free(result);
	struct brig_request request = { .size = sizeof(request),
					.code = "require('fs').readFileSync(0, 'utf8')",
					.stdin_data = "in",
					.stdin_size = 2,
					.want_value = true };
	result = run_request(session, &request);
	assert_string_equal(result->value_json, "\"in\"");
	brig_result_free(result);
	expect(session, "x", BRIG_OK, "", "5");
	brig_session_close(session);
	brig_context_free(context);
}

static void test_bash(void **state)
{
	struct brig_context *context = new_context(false);
	struct brig_session *session = open_session(context, "bash");

	(void)state;
	expect(session, "x=5; f() { echo f $1 $x; }; mkdir d; cd d; declare y=7", BRIG_OK, "",
	       NULL);
	expect(session, "f 2; pwd; echo $y", BRIG_OK, "f 2 5\n/sandbox/d\n7\n", NULL);
	struct brig_result *result = run_code(session, "(exit 2); echo $?; exit 9; echo no", 0);
	assert_int_equal(result->exit_code, 9);
	assert_string_equal(result->stdout_data, "2\n");
	brig_result_free(result);
	result = run_code(session, "while :; do f; sleep 0.01; done >/dev/null", 300);
	assert_int_equal(result->status, BRIG_TIMEOUT);
	brig_result_free(result);
	result = run_code(session, "sleep 10; echo no", 300);
	assert_int_equal(result->status, BRIG_TIMEOUT);
	assert_string_equal(result->stdout_data, "");
	brig_result_free(result);
	for (int i = 0; i < 3; i++) {
		expect(session, "set -e; false; echo no", BRIG_FAILED, "", NULL);
		expect(session, "f 3", BRIG_OK, "f 3 5\n", NULL);
	}
	struct brig_request request = { .size = sizeof(request),
					.code = "cat; read a; echo $?",
					.stdin_data = "a\0b\n",
					.stdin_size = 4 };
	result = run_request(session, &request);
	assert_int_equal(result->stdout_size, 6);
	assert_memory_equal(result->stdout_data, "a\0b\n1\n", 6);
	brig_result_free(result);
	expect_alive(session);
	brig_session_close(session);
	brig_context_free(context);
}

/* --- limits --------------------------------------------------------------------------------- */

static void test_softly(void **state)
{
	struct brig_context *context = new_context(false);
	struct brig_session *session = open_session(context, "python");
	struct brig_request request = { .size = sizeof(request) };
	struct brig_result *result = NULL;

	(void)state;
	expect(session, "x = 1", BRIG_OK, "", NULL);
	result = run_code(session, "while True: pass", 300);
	assert_int_equal(result->status, BRIG_TIMEOUT);
	assert_int_equal(result->limit, 300 * MS);
	assert_int_equal(result->exit_code, -1);
	assert_true(result->usage.wall_ns < 1200 * MS);
	assert_non_null(strstr(result->stderr_data, "KeyboardInterrupt"));
	brig_result_free(result);

	request.code = "while True: pass";
	request.limits.cpu_ns = 200 * MS;
	result = run_request(session, &request);
	assert_int_equal(result->status, BRIG_CPU_LIMIT);
	brig_result_free(result);
	/* The usage of earlier runs is not counted for this one. */
	request.code = "x";
	result = run_request(session, &request);
	assert_int_equal(result->status, BRIG_OK);
	assert_true(result->usage.cpu_ns < 100 * MS);
	brig_result_free(result);

	request.limits.cpu_ns = 0;
	request.limits.stdout_bytes = 1000;
	request.code = "while True: print('y' * 100)";
	result = run_request(session, &request);
	assert_int_equal(result->status, BRIG_OUTPUT_LIMIT);
	assert_int_equal(result->stdout_size, 1000);
	assert_true(result->stdout_truncated);
	brig_result_free(result);
	expect(session, "x", BRIG_OK, "", "1");

	struct brig_run *run = NULL, *second = NULL;
	struct brig_error error = { 0 };
	request = (struct brig_request){ .size = sizeof(request), .code = "while True: pass" };
	assert_int_equal(brig_session_interrupt(session), -ESRCH);
	assert_int_equal(brig_session_start(session, &request, &run, &error), 0);
	assert_int_equal(brig_session_start(session, &request, &second, &error), -EBUSY);
	assert_int_equal(brig_session_interrupt(session), 0);
	assert_int_equal(brig_run_wait(run, &error), 0);
	result = brig_run_take_result(run);
	assert_int_equal(result->status, BRIG_CANCELLED);
	brig_result_free(result);
	brig_run_free(run);

	/* The handle is freed: the run is interrupted all the same. */
	assert_int_equal(brig_session_start(session, &request, &run, &error), 0);
	brig_run_free(run);
	while (brig_session_state(session) == BRIG_SESSION_BUSY) {
		struct pollfd ready = { .fd = brig_session_fd(session), .events = POLLIN };
		poll(&ready, 1, 2000);
		brig_session_step(session);
	}
	expect(session, "x", BRIG_OK, "", "1");
	brig_session_close(session);

	/* Cancelled before there is an interpreter. */
	session = open_session(context, "python");
	assert_int_equal(brig_session_start(session, &request, &run, &error), 0);
	brig_run_cancel(run);
	assert_int_equal(brig_run_wait(run, &error), 0);
	result = brig_run_take_result(run);
	assert_int_equal(result->status, BRIG_CANCELLED);
	brig_result_free(result);
	brig_run_free(run);
	expect(session, "6 * 7", BRIG_OK, "", "42");
	/* Closed in the middle of a run, whose handle stays valid. */
	assert_int_equal(brig_session_start(session, &request, &run, &error), 0);
	brig_session_close(session);
	assert_int_equal(brig_run_wait(run, &error), 0);
	brig_run_free(run);
	brig_context_free(context);
}

static void test_limits_of_a_run(void **state)
{
	struct brig_context *context = new_context(false);
	struct brig_session *session = open_session(context, "python");
	struct brig_request request = { .size = sizeof(request),
					.code = "1",
					.limits = { .memory_bytes = 1 << 20 } };
	struct brig_error error = { 0 };
	struct brig_run *run = NULL;

	(void)state;
	assert_int_equal(brig_session_start(session, &request, &run, &error), -EINVAL);
	request.limits = (struct brig_limits){ .wall_ns = 1ull << 60 };
	assert_true(brig_session_start(session, &request, &run, &error) < 0);
	request.limits = (struct brig_limits){ 0 };
	request.code = "a\0b";
	request.code_size = 3;
	assert_int_equal(brig_session_start(session, &request, &run, &error), -EINVAL);
	request.code = NULL;
	assert_int_equal(brig_session_start(session, &request, &run, &error), -EINVAL);
	brig_session_close(session);

	struct brig_request other = { .size = sizeof(other), .language = "lua" };
	assert_int_equal(brig_session_open(context, &other, &session, &error), -ENOTSUP);
	other = (struct brig_request){ .size = sizeof(other), .code = "1" };
	assert_int_equal(brig_session_open(context, &other, &session, &error), -EINVAL);
	other = (struct brig_request){ .size = sizeof(other), .policy = "open", .consent = true };
	assert_true(brig_session_open(context, &other, &session, &error) < 0);
	brig_context_free(context);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_python),     cmocka_unit_test(test_python_warm),
		cmocka_unit_test(test_javascript), cmocka_unit_test(test_bash),
		cmocka_unit_test(test_softly),     cmocka_unit_test(test_limits_of_a_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
