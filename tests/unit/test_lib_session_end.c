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
	       "def flood():\n  while True: print('x' * 1000, flush=True)\n"
	       "threading.Thread(target=flood, daemon=True).start()",
	       BRIG_OK, NULL, NULL);
	nanosleep(&pause, NULL);
	expect_alive(session);
	brig_session_close(session);
	brig_context_free(context);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_early_done),
		cmocka_unit_test(test_forged_values),
		cmocka_unit_test(test_left_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
