/* SPDX-License-Identifier: Apache-2.0 */
/* Exit statuses: the numbers that scripts rely on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "cli/exit_status.h"

static void test_results(void **state)
{
	static const struct {
		enum brig_status status;
		int exit_code, signal, expected;
	} cases[] = {
		{ BRIG_OK, 0, 0, 0 },
		{ BRIG_FAILED, 3, 0, 3 },
		{ BRIG_FAILED, -1, 9, 137 },
		{ BRIG_FAILED, 255, 0, 255 },
		{ BRIG_COMPILE_FAILED, 1, 0, 119 },
		{ BRIG_TIMEOUT, -1, 0, 124 },
		{ BRIG_CPU_LIMIT, -1, 24, 121 },
		{ BRIG_MEMORY_LIMIT, -1, 9, 122 },
		{ BRIG_PROCESS_LIMIT, 1, 0, 123 },
		{ BRIG_DISK_LIMIT, 1, 0, 117 },
		{ BRIG_OUTPUT_LIMIT, -1, 0, 118 },
		{ BRIG_DENIED, -1, 31, 126 },
		{ BRIG_REJECTED, -1, 0, 126 },
		{ BRIG_LOST, -1, 0, 120 },
		{ BRIG_ERROR, -1, 0, 125 },
		{ (enum brig_status)99, 0, 0, 125 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct brig_result result = { .status = cases[i].status,
					      .exit_code = cases[i].exit_code,
					      .signal = cases[i].signal };
		assert_int_equal(exit_status_of(&result), cases[i].expected);
	}
}

static void test_errors(void **state)
{
	struct brig_error error = { .code = BRIG_E_INPUT };

	(void)state;
	assert_int_equal(exit_status_of_error(&error), 125);
	error.code = BRIG_E_CONSENT;
	assert_int_equal(exit_status_of_error(&error), 126);
	error.code = BRIG_E_RUNTIME;
	assert_int_equal(exit_status_of_error(&error), 127);
	error = (struct brig_error){ .code = BRIG_E_INPUT, .errnum = ENOENT };
	snprintf(error.step, sizeof(error.step), "exec");
	assert_int_equal(exit_status_of_error(&error), 127);
	error.errnum = EACCES;
	assert_int_equal(exit_status_of_error(&error), 126);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
