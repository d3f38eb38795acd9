/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a session: by its code, by forged answers, and with processes left behind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

#include <brig/brig.h>

#include "base/cleanup.h"
#include "session_fixture.h"

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

/* The code forges the report of its end and continues: the real report then ends the session. */
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

/* A value that is not JSON, or too deep, is dropped. */
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

/* Processes and threads left behind delay neither the run nor the session. */
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
	/* A flood between runs is not read at all. */
	expect(session,
	       "def flood():\n  time.sleep(.2)\n  while True: print('x' * 1000, flush=True)\n"
	       "threading.Thread(target=flood, daemon=True).start()",
	       BRIG_OK, NULL, NULL);
	pause.tv_nsec = 500000000;
	nanosleep(&pause, NULL);
	expect_alive(session);
	brig_session_close(session);
	brig_context_free(context);
}

/* Counts the calls; the run that it belongs to may be gone. */
static void count_output(void *user, int stream, const void *data, size_t size)
{
	(void)stream;
	(void)data;
	(void)size;
	++*(unsigned *)user;
}

/*
 * A session ends after its runs were freed: the end of its cell reads the rest of the output and
 * collects files, and must use nothing that the last run has lent.
 */
static void test_end_after_runs(void **state)
{
	const char *const globs[] = { "*.txt", "deep/**", NULL };
	struct brig_context *context = new_context(false);
	struct brig_session *session = open_session(context, "python");
	unsigned calls = 0;
	struct brig_request request = {
		.size = sizeof(request),
		.code = "import threading, time\n"
			"def noise():\n  time.sleep(.05)\n  print('late', flush=True)\n"
			"threading.Thread(target=noise).start()\nopen('a.txt', 'w').write('a')",
		.out = globs,
		.on_output = count_output,
		.user = &calls,
	};
	struct brig_result *result = run_request(session, &request);

	(void)state;
	assert_int_equal(result->status, BRIG_OK);
	assert_int_equal(result->files_count, 1);
	brig_result_free(result);
	struct timespec pause = { .tv_nsec = 300000000 };
	nanosleep(&pause, NULL);
	unsigned before = calls;
	brig_session_end(session, "enough");
	expect_gone(session, "enough");
	assert_int_equal(calls, before);
	brig_session_close(session);
	brig_context_free(context);
}

/* The same for a run that was freed before its end. */
static void test_end_of_abandoned_run(void **state)
{
	const char *const globs[] = { "*.txt", NULL };
	struct brig_context *context = new_context(false);
	struct brig_session *session = open_session(context, "python");
	struct brig_error error = { 0 };
	struct brig_run *run = NULL;
	unsigned calls = 0;
	struct brig_request request = {
		.size = sizeof(request),
		.code = "import time\nopen('a.txt', 'w').write('a')\ntime.sleep(60)",
		.out = globs,
		.on_output = count_output,
		.user = &calls,
	};

	(void)state;
	expect(session, "1", BRIG_OK, "", "1");
	assert_int_equal(brig_session_start(session, &request, &run, &error), 0);
	brig_run_free(run);
	brig_session_end(session, "enough");
	expect_gone(session, "enough");
	assert_int_equal(calls, 0);
	brig_session_close(session);
	brig_context_free(context);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends),           cmocka_unit_test(test_early_done),
		cmocka_unit_test(test_forged_values),  cmocka_unit_test(test_left_behind),
		cmocka_unit_test(test_end_after_runs), cmocka_unit_test(test_end_of_abandoned_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
