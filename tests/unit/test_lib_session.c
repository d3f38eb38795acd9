/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: what survives from run to run, what ends a run and what ends the session. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <brig/brig.h>

#include "base/cleanup.h"
#include "lib/session/session_files.h"

#define MS 1000000ull

static struct brig_context *new_context(bool warm)
{
	struct brig_warm_options pools = { .size = sizeof(pools), .cells_max = 2 };
	struct brig_context_options options = { .size = sizeof(options),
						.no_cache = true,
						.warm = warm ? &pools : NULL };
	struct brig_context *context = NULL;
	struct brig_error error = { 0 };

	if (brig_context_new(&options, &context, &error) < 0) {
		fail_msg("%s", error.message);
	}
	return context;
}

static struct brig_session *open_like(struct brig_context *context,
				      const struct brig_request *request)
{
	struct brig_session *session = NULL;
	struct brig_error error = { 0 };

	if (brig_session_open(context, request, &session, &error) < 0) {
		fail_msg("%s", error.message);
	}
	return session;
}

static struct brig_session *open_session(struct brig_context *context, const char *language)
{
	struct brig_request request = { .size = sizeof(request), .language = language };

	return open_like(context, &request);
}

static struct brig_result *run_request(struct brig_session *session,
				       const struct brig_request *request)
{
	struct brig_run *run = NULL;
	struct brig_error error = { 0 };

	if (brig_session_start(session, request, &run, &error) < 0 ||
	    brig_run_wait(run, &error) < 0) {
		fail_msg("%s", error.message);
	}
	struct brig_result *result = brig_run_take_result(run);
	brig_run_free(run);
	assert_non_null(result);
	assert_string_equal(result->start, "session");
	return result;
}

static struct brig_result *run_code(struct brig_session *session, const char *code, uint64_t ms)
{
	struct brig_request request = { .size = sizeof(request),
					.code = code,
					.want_value = true,
					.limits = { .wall_ns = (ms ? ms : 10000) * MS } };

	return run_request(session, &request);
}

/* Status, standard output, and value or NULL. */
static void expect(struct brig_session *session, const char *code, enum brig_status status,
		   const char *out, const char *value)
{
	struct brig_result *result = run_code(session, code, 0);

	if (result->status != status || (out && strcmp(result->stdout_data, out) != 0)) {
		fail_msg("%s: %s, \"%s\", \"%s\"", code, brig_status_name(result->status),
			 result->stdout_data, result->stderr_data);
	}
	if (value) {
		assert_non_null(result->value_json);
		assert_string_equal(result->value_json, value);
	}
	brig_result_free(result);
}

static void expect_alive(struct brig_session *session)
{
	assert_int_equal(brig_session_state(session), BRIG_SESSION_IDLE);
	assert_string_equal(brig_session_reason(session), "");
}

/* The session is gone, now or soon, for a reason with this in it. */
static void expect_gone(struct brig_session *session, const char *reason)
{
	struct brig_request request = { .size = sizeof(request), .code = "1" };
	struct brig_error error = { 0 };
	struct brig_run *run = NULL;

	for (int i = 0; i < 100 && !brig_session_step(session); i++) {
		struct pollfd ready = { .fd = brig_session_fd(session), .events = POLLIN };
		poll(&ready, 1, 100);
	}
	assert_int_equal(brig_session_state(session), BRIG_SESSION_GONE);
	if (!strstr(brig_session_reason(session), reason)) {
		fail_msg("\"%s\" does not say \"%s\"", brig_session_reason(session), reason);
	}
	assert_int_equal(brig_session_start(session, &request, &run, &error), -ESTALE);
	assert_non_null(strstr(error.message, reason));
}

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

	/* Nobody waits any more: it is interrupted all the same. */
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
	/* Closed in the middle of a run, whose handle stays good. */
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

/* --- what ends it --------------------------------------------------------------------------- */

static void test_ends(void **state)
{
	static const struct {
		const char *code, *reason;
		enum brig_status status;
	} cases[] = {
		{ "import os; os._exit(3)", "status 3", BRIG_FAILED },
		{ "import os; os.kill(os.getpid(), 9)", "signal 9", BRIG_FAILED },
		{ "import os; os.execv('/bin/sh', ['sh', '-c', 'echo over; exit 4'])", "status 4",
		  BRIG_FAILED },
		{ "import os, time; os.closerange(3, 256); time.sleep(60)", "", BRIG_TIMEOUT },
		{ "import signal, time; signal.pthread_sigmask(signal.SIG_BLOCK, [2]); "
		  "time.sleep(60)",
		  "could not be interrupted", BRIG_TIMEOUT },
		{ "import signal; signal.signal(2, signal.SIG_IGN)\nwhile True: pass",
		  "could not be interrupted", BRIG_TIMEOUT },
		{ "x = bytearray(1 << 30); x[::4096] = b'x' * (1 << 18)", "", BRIG_MEMORY_LIMIT },
		/* The interpreter's own channel, by the number that it has. */
		{ "import os, time; os.write(255, b'garbage' * 100); time.sleep(60)", "channel",
		  BRIG_CANCELLED },
		{ "import os, time; os.write(255, b'done 1 999 0\\n'); time.sleep(60)", "channel",
		  BRIG_CANCELLED },
		{ "import os, time; os.write(255, b'done 2 0 0\\n'); time.sleep(60)", "channel",
		  BRIG_CANCELLED },
		{ "import os, time; os.write(255, b'done 1 0 70000\\n'); time.sleep(60)", "channel",
		  BRIG_CANCELLED },
		{ "import os, time; os.write(255, b'done 1 0 0\\ndone 1 0 0\\n'); time.sleep(60)",
		  "channel", BRIG_CANCELLED },
		{ "import os, time; os.write(255, b'ready\\n'); time.sleep(60)", "channel",
		  BRIG_CANCELLED },
	};
	struct brig_context *context = new_context(false);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct brig_session *session = open_session(context, "python");
		uint64_t ms = cases[i].status == BRIG_TIMEOUT ? 400 : 20000;
		struct brig_result *result = run_code(session, cases[i].code, ms);

		/* Without a limit on memory the allocation may fail in the program instead. */
		if (cases[i].status == BRIG_MEMORY_LIMIT && result->status == BRIG_FAILED) {
			assert_non_null(strstr(result->stderr_data, "MemoryError"));
		} else {
			if (result->status != cases[i].status) {
				fail_msg("%s: %s", cases[i].code, brig_status_name(result->status));
			}
			expect_gone(session, cases[i].reason);
		}
		brig_result_free(result);
		brig_session_close(session);
	}
	brig_context_free(context);
}

/* It says that it has ended, and goes on: the next run finds it out. */
static void test_early_done(void **state)
{
	struct brig_context *context = new_context(false);
	struct brig_session *session = open_session(context, "python");
	struct brig_result *result =
		run_code(session,
			 "import os, time\nos.write(255, b'done 1 0 4\\n[42]')\nfor i in range(3): "
			 "time.sleep(.1); print('late')",
			 0);

	(void)state;
	assert_int_equal(result->status, BRIG_OK);
	assert_string_equal(result->value_json, "[42]");
	brig_result_free(result);
	expect_gone(session, "channel");
	brig_session_close(session);
	brig_context_free(context);
}

/* A value that is no JSON, or too deep, is none; a status stays one. */
static void test_forged_values(void **state)
{
	struct brig_context *context = new_context(false);

	(void)state;
	const char *const codes[] = {
		"import os\nv = b'{\"a\":1,\"a\":2}'",
		"import os\nv = b'[' * 1000 + b']' * 1000",
		"import os\nv = b'\\xff\\x00'",
		"import os\nv = b'nan'",
	};
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		struct brig_session *session = open_session(context, "python");
		char code[256];
		snprintf(code, sizeof(code),
			 "%s\nos.write(255, b'done 1 7 %%d\\n%%s' %% (len(v), v))\nos._exit(0)",
			 codes[i]);
		struct brig_result *result = run_code(session, code, 0);
		assert_null(result->value_json);
		brig_result_free(result);
		brig_session_close(session);
	}
	brig_context_free(context);
}

/* Those who stay behind keep neither the run nor the session. */
static void test_left_behind(void **state)
{
	struct brig_context *context = new_context(false);
	struct brig_session *session = open_session(context, "python");

	(void)state;
	expect(session,
	       "import subprocess, sys, threading, time\n"
	       "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(1000)'])",
	       BRIG_OK, "", NULL);
	expect(session,
	       "def noise():\n  time.sleep(.05)\n  for i in range(50): print('noise', "
	       "flush=True)\nthreading.Thread(target=noise).start()",
	       BRIG_OK, "", NULL);
	struct timespec pause = { .tv_nsec = 300000000 };
	nanosleep(&pause, NULL);
	/* Output between runs belongs to no run. */
	expect(session, "print('mine')", BRIG_OK, "mine\n", NULL);
	expect(session, "p.kill(); p.wait()", BRIG_OK, "", "-9");
	/* A flood while nobody reads does not come to us at all. */
	expect(session,
	       "def flood():\n  while True: print('x' * 1000, flush=True)\n"
	       "threading.Thread(target=flood, daemon=True).start()",
	       BRIG_OK, NULL, NULL);
	nanosleep(&pause, NULL);
	expect_alive(session);
	brig_session_close(session);
	brig_context_free(context);
}

/* Pipes alone: a cell that has just ended has its control groups open until they are removed. */
static unsigned count_pipes(void)
{
	char place[32], target[64];
	unsigned count = 0;

	for (int fd = 0; fd < 1024; fd++) {
		snprintf(place, sizeof(place), "/proc/self/fd/%d", fd);
		ssize_t size = readlink(place, target, sizeof(target) - 1);
		count += size > 5 && strncmp(target, "pipe:", 5) == 0;
	}
	return count;
}

/* Descriptors that come along with an answer stay outside. */
static void test_descriptors(void **state)
{
	struct brig_context *context = new_context(false);
	struct brig_session *session = open_session(context, "python");

	(void)state;
	expect(session, "import array, os, socket", BRIG_OK, "", NULL);
	unsigned before = count_pipes();
	expect(session,
	       "s = socket.socket(fileno=os.dup(255))\n"
	       "s.sendmsg([b'done 2 0 0\\n'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, "
	       "array.array('i', [0, 1, 2]))]); os._exit(0)",
	       BRIG_OK, "", NULL);
	assert_true(count_pipes() <= before);
	brig_session_close(session);
	brig_context_free(context);
}

#define IDLE_SESSIONS 4
/* One of them hears of names that are asked for without a network: see native/native_names.c. */
#define IDLE_DESCRIPTORS 13

static void fill_pool(struct brig_context *context)
{
	struct brig_request like = { .size = sizeof(like), .language = "python", .code = "0" };
	struct brig_error error = { 0 };

	if (brig_context_warm(context, &like, 2, &error) < 0) {
		fail_msg("%s", error.message);
	}
}

/* The time has come for the look that is taken at an idle session. */
static void wait_for_look(struct brig_session *session)
{
	struct pollfd ready = { .fd = brig_session_fd(session), .events = POLLIN };

	assert_int_equal(poll(&ready, 1, 20000), 1);
	assert_int_equal(brig_session_step(session), 0);
	expect_alive(session);
	assert_int_equal(poll(&ready, 1, 0), 0);
}

/* Thousands may be open and idle: each holds few descriptors, before it was used and after. */
static void check_idle_descriptors(const char *language, const char *code, bool warm, bool wait)
{
	struct brig_context *context = new_context(warm);
	struct brig_session *sessions[IDLE_SESSIONS + 1];
	unsigned before = 0;

	for (int i = 0; i <= IDLE_SESSIONS; i++) {
		if (warm) {
			fill_pool(context);
		}
		sessions[i] = open_session(context, language);
		expect(sessions[i], code, BRIG_OK, "", NULL);
		if (warm) {
			fill_pool(context);
		}
		before = i ? before : count_pipes();
	}
	assert_in_range(count_pipes() - before, 0, IDLE_SESSIONS * IDLE_DESCRIPTORS);
	for (int i = 1; wait && i <= IDLE_SESSIONS; i++) {
		wait_for_look(sessions[i]);
	}
	assert_in_range(count_pipes() - before, 0, IDLE_SESSIONS * IDLE_DESCRIPTORS);
	for (int i = 0; i <= IDLE_SESSIONS; i++) {
		expect(sessions[i], code, BRIG_OK, "", NULL);
		brig_session_close(sessions[i]);
	}
	brig_context_free(context);
}

static void test_idle_descriptors(void **state)
{
	(void)state;
	check_idle_descriptors("python", "x = 1", false, true);
	check_idle_descriptors("python", "x = 1", true, false);
	check_idle_descriptors("bash", "true", false, false);
}

/* A thread that was left behind may use what one run may, not more. */
static void test_idle_work(void **state)
{
	struct brig_context *context = new_context(false);
	struct brig_request like = { .size = sizeof(like), .limits = { .cpu_ns = 500 * MS } };
	struct brig_session *session = open_like(context, &like);

	(void)state;
	expect(session,
	       "import threading\ndef spin():\n  while True: pass\n"
	       "threading.Thread(target=spin, daemon=True).start()",
	       BRIG_OK, "", NULL);
	expect_gone(session, "between runs: cpu_limit");
	brig_session_close(session);
	brig_context_free(context);
}

/* Where the kernel tells of it, it is known at once, and not at the next look. */
static void test_idle_memory(void **state)
{
	struct brig_context *context = new_context(false);
	struct brig_request like = { .size = sizeof(like), .limits = { .memory_bytes = 64 << 20 } };
	struct brig_session *session = open_like(context, &like);
	struct brig_result *result =
		run_code(session,
			 "import threading, time\n"
			 "def grow():\n  time.sleep(0.3); x = b'x' * (1 << 28)\n"
			 "threading.Thread(target=grow, daemon=True).start()",
			 0);
	bool told = strstr(result->means, "memory=cgroup") != NULL;

	(void)state;
	brig_result_free(result);
	if (told) {
		expect_gone(session, "between runs: memory_limit");
	}
	brig_session_close(session);
	brig_context_free(context);
}

/* --- files ---------------------------------------------------------------------------------- */

static void expect_get(struct brig_session *session, const char *path, int errnum,
		       const char *content)
{
	struct brig_error error = { 0 };
	_cleanup_free_ char *data = NULL;
	size_t size = 0;
	int r = brig_session_get(session, path, 1 << 20, &data, &size, &error);

	if (r != -errnum) {
		fail_msg("%s: %d %s", path, r, error.message);
	}
	if (r == 0) {
		assert_string_equal(data, content);
	}
}

static void test_files(void **state)
{
	struct brig_context *context = new_context(false);
	struct brig_session *session = open_session(context, "python");
	struct brig_error error = { 0 };
	struct brig_session_file *files = NULL;
	size_t count = 0;
	bool truncated = true;

	(void)state;
	expect(session, "import os", BRIG_OK, "", NULL);
	assert_int_equal(brig_session_put(session, "data/in.csv", "1,2\n", 4, false, &error), 0);
	expect(session,
	       "s = os.stat('data/in.csv'); open('data/in.csv').read(), oct(s.st_mode), "
	       "s.st_uid == os.getuid()",
	       BRIG_OK, "", "[\"1,2\\n\",\"0o100644\",true]");
	expect(session, "open('data/in.csv', 'a').write('3'); os.rename('data', 'd2')", BRIG_OK, "",
	       NULL);
	expect_get(session, "d2/in.csv", 0, "1,2\n3");
	assert_int_equal(brig_session_put(session, "d2/in.csv", "new", 3, true, &error), 0);
	expect_get(session, "d2/in.csv", 0, "new");
	expect_get(session, "data/in.csv", ENOENT, NULL);
	assert_int_equal(brig_session_list(session, &files, &count, &truncated, &error), 0);
	assert_int_equal(count, 1);
	assert_false(truncated);
	assert_string_equal(files[0].path, "d2/in.csv");
	assert_int_equal(files[0].size, 3);
	assert_true(files[0].executable);
	brig_session_files_free(files, count);
	assert_int_equal(brig_session_delete(session, "d2", &error), -ENOTEMPTY);
	assert_int_equal(brig_session_delete(session, "d2/in.csv", &error), 0);
	assert_int_equal(brig_session_delete(session, "d2", &error), 0);
	assert_int_equal(brig_session_delete(session, "d2", &error), -ENOENT);

	/* A disk that is full is full for everybody. */
	_cleanup_free_ char *big = calloc(1, 40 << 20);
	assert_int_equal(brig_session_put(session, "a", big, 40 << 20, false, &error), 0);
	assert_int_equal(brig_session_put(session, "b", big, 40 << 20, false, &error), -ENOSPC);
	expect(session, "sorted(os.listdir('.'))", BRIG_OK, "", "[\"a\",\"out\"]");

	struct brig_file_in input = { .name = "in/f", .data = "hello", .size = 5 };
	struct brig_request request = { .size = sizeof(request),
					.code = "open('out/r', 'w').write(open('in/f').read())",
					.files = &input,
					.files_count = 1 };
	struct brig_result *result = run_request(session, &request);
	assert_int_equal(result->status, BRIG_OK);
	assert_int_equal(result->files_count, 1);
	assert_string_equal(result->files[0].path, "out/r");
	brig_result_free(result);
	struct timespec pause = { .tv_nsec = 30000000 };
	nanosleep(&pause, NULL);
	/* Only what a run has changed comes back with it. */
	result = run_code(session, "1", 0);
	assert_int_equal(result->files_count, 0);
	brig_result_free(result);
	brig_session_close(session);
	brig_context_free(context);
}

static void test_hostile_files(void **state)
{
	static const char *const names[] = {
		"../etc/passwd", "/etc/passwd", "a/../../x", "",      ".",
		"a//b",          "a\nb",        "\xff",      "out/.."
	};
	struct brig_context *context = new_context(false);
	struct brig_session *session = open_session(context, "python");
	struct brig_error error = { 0 };

	(void)state;
	expect(session,
	       "import os\n"
	       "os.symlink('/etc/passwd', 'link'); os.symlink('/', 'root'); os.symlink('.', "
	       "'here')\n"
	       "os.symlink('/proc/self/root', 'magic'); os.mkfifo('fifo')\n"
	       "open('one', 'w').write('1'); os.link('one', 'two'); os.mkdir('dir')\n"
	       "os.symlink('nowhere', 'dangling'); os.symlink('dir', 'linkdir')\n"
	       "open('secret', 'w').write('s'); os.chmod('secret', 0)\n"
	       "import socket; s = socket.socket(socket.AF_UNIX); s.bind('sock')",
	       BRIG_OK, "", NULL);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		expect_get(session, names[i], EINVAL, NULL);
		assert_int_equal(brig_session_put(session, names[i], "x", 1, false, &error),
				 -EINVAL);
		assert_int_equal(brig_session_delete(session, names[i], &error), -EINVAL);
	}
	expect_get(session, "link", ELOOP, NULL);
	expect_get(session, "root/etc/passwd", ELOOP, NULL);
	expect_get(session, "magic/etc/passwd", ELOOP, NULL);
	expect_get(session, "here/one", ELOOP, NULL);
	expect_get(session, "fifo", EINVAL, NULL);
	expect_get(session, "sock", ENXIO, NULL);
	expect_get(session, "dir", EINVAL, NULL);
	expect_get(session, "two", 0, "1");
	assert_int_equal(brig_session_put(session, "link", "x", 1, false, &error), -EINVAL);
	assert_int_equal(brig_session_put(session, "dangling", "x", 1, false, &error), -EINVAL);
	assert_int_equal(brig_session_put(session, "fifo", "x", 1, false, &error), -EINVAL);
	assert_int_equal(brig_session_put(session, "dir", "x", 1, false, &error), -EINVAL);
	assert_true(brig_session_put(session, "root/tmp/x", "x", 1, false, &error) < 0);
	assert_true(brig_session_put(session, "linkdir/x", "x", 1, false, &error) < 0);
	/* Written anew, not through: the other name keeps what it had. */
	assert_int_equal(brig_session_put(session, "one", "11", 2, false, &error), 0);
	expect_get(session, "two", 0, "1");
	/* The link itself goes, not what it points to. */
	assert_int_equal(brig_session_delete(session, "linkdir", &error), 0);
	assert_int_equal(brig_session_delete(session, "link", &error), 0);
	expect(session, "sorted(os.listdir('.')), os.listdir('dir')", BRIG_OK, "",
	       "[[\"dangling\",\"dir\",\"fifo\",\"here\",\"magic\",\"one\",\"out\",\"root\","
	       "\"secret\",\"sock\",\"two\"],[]]");
	expect_alive(session);
	brig_session_close(session);
	brig_context_free(context);
}

/* Names change while they are looked up: nothing but what is beneath is ever read or written. */
static void test_racing_files(void **state)
{
	struct brig_context *context = new_context(false);
	struct brig_session *session = open_session(context, "python");
	struct brig_request request = {
		.size = sizeof(request),
		.code = "import os\nos.mkdir('a'); open('a/f', 'w').write('mine')\n"
			"os.symlink('/etc', 'b')\nprint('go', flush=True)\n"
			"while True:\n  os.rename('a', 'c'); os.rename('b', 'a'); os.rename('a', "
			"'b'); "
			"os.rename('c', 'a')",
	};
	struct brig_error error = { 0 };
	struct brig_run *run = NULL;

	(void)state;
	expect(session, "open('passwd', 'w').close()", BRIG_OK, "", NULL);
	assert_int_equal(brig_session_start(session, &request, &run, &error), 0);
	for (int i = 0; i < 3000; i++) {
		_cleanup_free_ char *data = NULL;
		struct brig_session_file *files = NULL;
		size_t size = 0, count = 0;
		assert_true(brig_session_get(session, "a/passwd", 1 << 20, &data, &size, NULL) < 0);
		brig_session_put(session, "a/g", "x", 1, false, NULL);
		if (i % 100 == 0 && brig_session_list(session, &files, &count, NULL, NULL) == 0) {
			for (size_t j = 0; j < count; j++) {
				assert_null(strstr(files[j].path, "hosts"));
			}
			brig_session_files_free(files, count);
		}
		brig_run_step(run, NULL);
	}
	brig_run_cancel(run);
	assert_int_equal(brig_run_wait(run, &error), 0);
	brig_run_free(run);
	brig_session_close(session);
	brig_context_free(context);
}

/* Some names in each step; what is long together is cut. */
static void test_listing_in_steps(void **state)
{
	struct brig_context *context = new_context(false);
	struct brig_session *session = open_session(context, "python");
	struct brig_error error = { 0 };
	struct session_listing *list = NULL;
	size_t count = 0;
	unsigned steps = 0;
	bool truncated = true;
	int r;

	(void)state;
	expect(session,
	       "import os\n"
	       "for i in range(1000): open(f'f{i:04}', 'w').close()",
	       BRIG_OK, "", NULL);
	assert_int_equal(session_listing_new(session, &list, &error), 0);
	while ((r = session_listing_step(list, &error)) == 0) {
		steps++;
	}
	assert_int_equal(r, 1);
	assert_true(steps >= 3);
	const struct brig_session_file *files = session_listing_files(list, &count, &truncated);
	assert_int_equal(count, 1000);
	assert_false(truncated);
	assert_string_equal(files[999].path, "f0999");
	session_listing_free(list);
	/* It goes on without the session, and may be left at any step. */
	assert_int_equal(session_listing_new(session, &list, &error), 0);
	assert_int_equal(session_listing_step(list, &error), 0);
	expect(session,
	       "d = '/'.join(['d' * 240] * 4); os.makedirs(d)\n"
	       "for i in range(2500): os.link('f0000', f'{d}/{i:04}')",
	       BRIG_OK, "", NULL);
	struct brig_session_file *all = NULL;
	assert_int_equal(brig_session_list(session, &all, &count, &truncated, &error), 0);
	assert_true(truncated && count < 3500);
	brig_session_files_free(all, count);
	brig_session_close(session);
	assert_true(session_listing_step(list, &error) >= 0);
	session_listing_free(list);
	brig_context_free(context);
}

/* Names that are not listed take their part of a step, too. */
static void test_listing_odd_names_in_steps(void **state)
{
	struct brig_context *context = new_context(false);
	struct brig_session *session = open_session(context, "python");
	struct brig_error error = { 0 };
	struct session_listing *list = NULL;
	size_t count = 0;
	unsigned steps = 0;
	bool truncated = true;
	int r;

	(void)state;
	expect(session,
	       "import os\n"
	       "open('f', 'w').close()\n"
	       "for i in range(4000): os.link('f', f'f{i}' if i % 250 == 0 else f'o{i}\\x01')",
	       BRIG_OK, "", NULL);
	assert_int_equal(session_listing_new(session, &list, &error), 0);
	while ((r = session_listing_step(list, &error)) == 0) {
		steps++;
	}
	assert_int_equal(r, 1);
	session_listing_files(list, &count, &truncated);
	assert_int_equal(count, 17);
	assert_true(steps >= 7); /* of 512 names at most */
	session_listing_free(list);
	brig_session_close(session);
	brig_context_free(context);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_python),
		cmocka_unit_test(test_python_warm),
		cmocka_unit_test(test_javascript),
		cmocka_unit_test(test_bash),
		cmocka_unit_test(test_softly),
		cmocka_unit_test(test_limits_of_a_run),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_early_done),
		cmocka_unit_test(test_forged_values),
		cmocka_unit_test(test_left_behind),
		cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_idle_work),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_hostile_files),
		cmocka_unit_test(test_racing_files),
		cmocka_unit_test(test_idle_descriptors),
		cmocka_unit_test(test_idle_memory),
		cmocka_unit_test(test_listing_in_steps),
		cmocka_unit_test(test_listing_odd_names_in_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
