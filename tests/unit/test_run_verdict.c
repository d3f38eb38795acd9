/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts: every way a run can end, as a row. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/limits.h"
#include "run/watch/verdict.h"

struct row {
	struct facts facts;
	enum brig_status status;
	const char *cause;
	const char *limit_name;
	int exit_code;
	int signal;
};

static const struct row rows[] = {
	{ { .exited = true, .end_code = CLD_EXITED }, BRIG_OK, "exit", "", 0, 0 },
	{ { .exited = true, .end_code = CLD_EXITED, .end_status = 3 },
	  BRIG_FAILED,
	  "exit",
	  "",
	  3,
	  0 },
	{ { .exited = true, .end_code = CLD_KILLED, .end_status = SIGSEGV },
	  BRIG_FAILED,
	  "signal",
	  "",
	  -1,
	  SIGSEGV },
	{ { .exited = true, .end_code = CLD_DUMPED, .end_status = SIGABRT },
	  BRIG_FAILED,
	  "signal",
	  "",
	  -1,
	  SIGABRT },
	{ { .ending = ENDING_WALL, .wall_ns = 5 }, BRIG_TIMEOUT, "wall", "wall_ms", -1, 0 },
	{ { .ending = ENDING_CPU }, BRIG_CPU_LIMIT, "cpu_time", "cpu_ms", -1, 0 },
	{ { .ending = ENDING_MEMORY }, BRIG_MEMORY_LIMIT, "memory", "memory_bytes", -1, 0 },
	{ { .ending = ENDING_PROCESSES }, BRIG_PROCESS_LIMIT, "processes", "processes", -1, 0 },
	{ { .ending = ENDING_STDOUT }, BRIG_OUTPUT_LIMIT, "stdout", "stdout_bytes", -1, 0 },
	{ { .ending = ENDING_STDERR }, BRIG_OUTPUT_LIMIT, "stderr", "stderr_bytes", -1, 0 },
	{ { .ending = ENDING_DENIALS }, BRIG_DENIED, "denials", "", -1, 0 },
	{ { .ending = ENDING_CONNECTIONS }, BRIG_DENIED, "connections", "", -1, 0 },
	{ { .ending = ENDING_WATCHED }, BRIG_DENIED, "watched", "", -1, 0 },
	{ { .ending = ENDING_LOCK }, BRIG_DENIED, "kernel_lock", "", -1, 0 },
	{ { .ending = ENDING_CANCELLED }, BRIG_CANCELLED, "cancelled", "", -1, 0 },
	{ { .ending = ENDING_PROTOCOL }, BRIG_ERROR, "protocol", "", -1, 0 },
	{ { .ending = ENDING_WALL, .stuck = true }, BRIG_LOST, "stuck", "", -1, 0 },
	{ { .exited = false }, BRIG_ERROR, "vanished", "", -1, 0 },
	{ { .exited = true, .end_code = CLD_EXITED, .end_status = 134, .guest = GUEST_TRAP },
	  BRIG_FAILED,
	  "trap",
	  "",
	  134,
	  0 },
	{ { .exited = true,
	    .end_code = CLD_EXITED,
	    .end_status = 134,
	    .guest = GUEST_INSTRUCTIONS },
	  BRIG_CPU_LIMIT,
	  "instructions",
	  "instructions",
	  134,
	  0 },
	{ { .exited = true, .end_code = CLD_EXITED, .end_status = 125, .guest = GUEST_INVALID },
	  BRIG_FAILED,
	  "module",
	  "",
	  125,
	  0 },
	{ { .exited = true, .end_code = CLD_EXITED, .end_status = 125, .guest = GUEST_ENGINE },
	  BRIG_ERROR,
	  "engine",
	  "",
	  125,
	  0 },
	/* killed for memory before the warden could check */
	{ { .exited = true, .end_code = CLD_KILLED, .end_status = SIGKILL, .oom_kills = 1 },
	  BRIG_MEMORY_LIMIT,
	  "memory",
	  "memory_bytes",
	  -1,
	  SIGKILL },
	/* the same, by a limit above the cell's own */
	{ { .ending = ENDING_MEMORY, .oom_kills = 1, .oom_outside = true },
	  BRIG_ERROR,
	  "host_memory",
	  "",
	  -1,
	  0 },
	{ { .exited = false, .oom_kills = 1, .oom_outside = true },
	  BRIG_ERROR,
	  "host_memory",
	  "",
	  -1,
	  0 },
	/* a child was killed for memory and the program hid it */
	{ { .exited = true, .end_code = CLD_EXITED, .oom_kills = 1 },
	  BRIG_MEMORY_LIMIT,
	  "memory",
	  "memory_bytes",
	  0,
	  0 },
	{ { .exited = true, .end_code = CLD_KILLED, .end_status = SIGSYS },
	  BRIG_DENIED,
	  "syscall",
	  "",
	  -1,
	  SIGSYS },
	{ { .exited = true, .end_code = CLD_KILLED, .end_status = SIGXFSZ },
	  BRIG_DISK_LIMIT,
	  "file_size",
	  "file_bytes",
	  -1,
	  SIGXFSZ },
	{ { .exited = true, .end_code = CLD_KILLED, .end_status = SIGXCPU, .cpu_ns = 1000 },
	  BRIG_CPU_LIMIT,
	  "cpu_time",
	  "cpu_ms",
	  -1,
	  SIGXCPU },
	{ { .exited = true, .end_code = CLD_EXITED, .end_status = 1, .disk_full = true },
	  BRIG_DISK_LIMIT,
	  "disk",
	  "disk_bytes",
	  1,
	  0 },
	{ { .exited = true, .end_code = CLD_EXITED, .end_status = 1, .inodes_full = true },
	  BRIG_DISK_LIMIT,
	  "inodes",
	  "disk_inodes",
	  1,
	  0 },
	{ { .exited = true, .end_code = CLD_EXITED, .end_status = 1, .fork_refusals = 1 },
	  BRIG_PROCESS_LIMIT,
	  "processes",
	  "processes",
	  1,
	  0 },
	/* it met a limit and handled it: that is success */
	{ { .exited = true, .end_code = CLD_EXITED, .disk_full = true, .fork_refusals = 9 },
	  BRIG_OK,
	  "exit",
	  "",
	  0,
	  0 },
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct brig_result result = { .limits = { .wall_ns = 1,
							  .cpu_ns = 1000,
							  .memory_bytes = 2,
							  .processes = 3,
							  .disk_bytes = 4,
							  .disk_inodes = 5,
							  .file_bytes = 6,
							  .stdout_bytes = 7,
							  .stderr_bytes = 8,
							  .instructions = 9 } };
		verdict_give(&rows[i].facts, &result);
		assert_int_equal(result.status, rows[i].status);
		assert_string_equal(result.cause, rows[i].cause);
		assert_string_equal(result.limit_name, rows[i].limit_name);
		assert_int_equal(result.exit_code, rows[i].exit_code);
		assert_int_equal(result.signal, rows[i].signal);
		assert_int_equal(result.limit != 0, rows[i].limit_name[0] != '\0');
		/* a run that hit a limit gets a remedy in words */
		if (rows[i].status != BRIG_OK) {
			assert_true(strlen(result.remedy) > 20);
		}
		if (rows[i].limit_name[0]) {
			assert_true(strlen(result.operator_remedy) > 20);
		}
	}
}

static void test_denial_explains_failure(void **state)
{
	struct facts facts = { .exited = true, .end_code = CLD_EXITED, .end_status = 1 };
	struct brig_result result = { .denied = true,
				      .denial = { .call = "ptrace", .reason = "no debugging" } };

	(void)state;
	verdict_give(&facts, &result);
	assert_int_equal(result.status, BRIG_FAILED);
	assert_non_null(strstr(result.remedy, "ptrace"));
	assert_non_null(strstr(result.remedy, "no debugging"));
	assert_non_null(strstr(result.operator_remedy, "ptrace"));
}

/* The event that was too much, and the line of the policy. */
static void test_threshold_is_named(void **state)
{
	struct facts facts = { .ending = ENDING_WATCHED,
			       .over = { .key = "watched",
					 .ending = ENDING_WATCHED,
					 .most = 12,
					 .subject = "/etc/shadow",
					 .reason = "monitor.files: /etc/shadow" } };
	struct brig_result result = { .limits = { .wall_ns = 1 } };

	(void)state;
	verdict_give(&facts, &result);
	assert_int_equal(result.status, BRIG_DENIED);
	assert_non_null(strstr(result.remedy, "/etc/shadow"));
	assert_non_null(
		strstr(result.operator_remedy, "monitor.end_after.watched of the policy, 12"));

	/* It ended for another reason before: that is the verdict. */
	facts.ending = ENDING_WALL;
	verdict_give(&facts, &result);
	assert_int_equal(result.status, BRIG_TIMEOUT);
	assert_null(strstr(result.remedy, "/etc/shadow"));
}

/* The pages tell for each limit how a run ends that reaches it, or which other effect that has. */
static void test_limits_end_runs_or_have_effects(void **state)
{
	enum brig_status status = BRIG_OK;

	(void)state;
	for (size_t i = 0; i < LIMITS_COUNT; i++) {
		const struct limit_info *info = &limit_table[i];

		/* A value that is 0 by default is a time to give, not one to reach. */
		if (info->usual) {
			assert_int_equal(verdict_of_limit(info->key, &status), !info->effect);
		}
	}
	assert_true(verdict_of_limit("inodes", &status));
	assert_int_equal(status, BRIG_DISK_LIMIT);
	assert_false(verdict_of_limit("exit", &status));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_denial_explains_failure),
		cmocka_unit_test(test_threshold_is_named),
		cmocka_unit_test(test_limits_end_runs_or_have_effects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
