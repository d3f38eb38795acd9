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
#include <sys/socket.h>
#include <unistd.h>

#include <brig/brig.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/files/fdpass.h"
#include "lib/session/session.h"
#include "old_socket.h"
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
	       "try: s.sendmsg([b'd'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, "
	       "array.array('i', [0, 1, 2]))])\n"
	       "except PermissionError: s.send(b'done 2 0 0\\n')\n"
	       "else: s.send(b'one 2 0 0\\n')\n"
	       "os._exit(0)",
	       BRIG_OK, "", NULL);
	assert_true(count_pipes() <= before);
	brig_session_close(session);
	brig_context_free(context);
}

/*
 * A descriptor that is dropped is closed by its receiver. The last close of this one waits a minute
 * for its peer, which never reads, and is in the same message.
 */
static const char slow_descriptor[] =
	"import array, os, socket, struct, time\n"
	"server = socket.create_server(('127.0.0.1', 0))\n"
	"server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)\n"
	"s = socket.create_connection(server.getsockname())\n"
	"peer, _ = server.accept()\n"
	"s.setblocking(False)\n"
	"try:\n"
	"  while True: s.send(bytes(65536))\n"
	"except BlockingIOError: pass\n"
	"s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack('ii', 1, 60))\n"
	"line = socket.socket(fileno=os.dup(255))\n"
	"try: line.sendmsg([b'done 1 0 0\\n'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, "
	"array.array('i', [s.fileno(), peer.fileno()]))])\n"
	"except PermissionError: print('refused')\n"
	"else: s.close(); peer.close(); server.close(); time.sleep(60)\n";

static void check_slow_descriptor(bool refuses)
{
	struct brig_context *context = new_context(false);
	struct brig_session *session = open_session(context, "python");
	uint64_t before = clock_now_ns();
	struct brig_result *result = run_code(session, slow_descriptor, 0);

	if (refuses) {
		assert_string_equal(result->stdout_data, "refused\n");
	} else {
		assert_int_not_equal(result->status, BRIG_OK);
		expect_gone(session, "channel");
	}
	brig_result_free(result);
	brig_session_close(session);
	assert_true(clock_now_ns() - before < 30000 * MS);
	brig_context_free(context);
}

static void test_slow_descriptor(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	check_slow_descriptor(fdpass_refuse(ends[0]) == 1);
	close(ends[0]);
	close(ends[1]);
}

/* As before Linux 6.16. */
static void test_slow_descriptor_of_old(void **state)
{
	(void)state;
	old_socket = true;
	check_slow_descriptor(false);
	old_socket = false;
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

/* The cell dies between runs, and its files are being collected: no run begins in it any more. */
static void test_run_in_ending_cell(void **state)
{
	struct brig_context *context = new_context(false);
	struct brig_session *session = open_session(context, "python");
	struct brig_request request = { .size = sizeof(request), .code = "1" };
	struct brig_error error = { 0 };
	struct brig_run *run = NULL;

	(void)state;
	expect(session,
	       "import os, threading, time\n"
	       "for i in range(2000): os.close(os.open('/sandbox/out/%d' % i, os.O_CREAT))\n"
	       "def end():\n  time.sleep(0.2); os._exit(3)\n"
	       "threading.Thread(target=end, daemon=True).start()",
	       BRIG_OK, "", NULL);
	for (int i = 0; i < 100 && session->phase.run->state < RUN_ENDING; i++) {
		struct pollfd ready = { .fd = brig_session_fd(session), .events = POLLIN };
		poll(&ready, 1, 100);
		brig_session_step(session);
	}
	assert_int_equal(session->phase.run->state, RUN_COLLECTING);
	assert_int_equal(brig_session_start(session, &request, &run, &error), 0);
	assert_int_equal(session->phase.run->state, RUN_COLLECTING);
	assert_int_equal(brig_run_wait(run, &error), 0);
	brig_run_free(run);
	expect_gone(session, "its interpreter ended between runs with status 3");
	brig_session_close(session);
	brig_context_free(context);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_idle_work),
		cmocka_unit_test(test_slow_descriptor),
		cmocka_unit_test(test_slow_descriptor_of_old),
		cmocka_unit_test(test_idle_descriptors),
		cmocka_unit_test(test_idle_memory),
		cmocka_unit_test(test_run_in_ending_cell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
