/* SPDX-License-Identifier: Apache-2.0 */
/* Idle sessions: few descriptors, and limits that also apply between runs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <brig/brig.h>

#include "base/cleanup.h"
#include "session_fixture.h"

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

/* Descriptors that are sent with an answer are not received. */
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
/* One of them receives lookups of names without a network: see native/native_names.c. */
#define IDLE_DESCRIPTORS 13

static void fill_pool(struct brig_context *context)
{
	struct brig_request like = { .size = sizeof(like), .language = "python", .code = "0" };
	struct brig_error error = { 0 };

	if (brig_context_warm(context, &like, 2, &error) < 0) {
		fail_msg("%s", error.message);
	}
}

/* Waits for the regular check of an idle session. */
static void wait_for_check(struct brig_session *session)
{
	struct pollfd ready = { .fd = brig_session_fd(session), .events = POLLIN };

	assert_int_equal(poll(&ready, 1, 20000), 1);
	assert_int_equal(brig_session_step(session), 0);
	expect_alive(session);
	assert_int_equal(poll(&ready, 1, 0), 0);
}

/* Thousands may be open and idle: each holds few descriptors, before its first run and after. */
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
		wait_for_check(sessions[i]);
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

/* A thread that was left behind may use as much as one run, not more. */
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

/* Where the kernel reports it, it is detected at once, and not at the next check. */
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
	bool reported = strstr(result->means, "memory=cgroup") != NULL;

	(void)state;
	brig_result_free(result);
	if (reported) {
		expect_gone(session, "between runs: memory_limit");
	}
	brig_session_close(session);
	brig_context_free(context);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_idle_work),
		cmocka_unit_test(test_idle_descriptors),
		cmocka_unit_test(test_idle_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
