/* SPDX-License-Identifier: Apache-2.0 */
/* Errors: texts, codes, context, and hostile or overlong arguments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/error.h"

static void test_set(void **state)
{
	struct brig_error err = { .step = "old", .remedy = "old" };

	(void)state;
	assert_int_equal(error_set(&err, BRIG_E_INPUT, ENOENT, "file %s", "x.py"), -ENOENT);
	assert_int_equal(err.code, BRIG_E_INPUT);
	assert_int_equal(err.errnum, ENOENT);
	assert_string_equal(err.message, "file x.py");
	assert_string_equal(err.step, "");
	assert_string_equal(err.remedy, "");
}

static void test_never_success(void **state)
{
	struct brig_error err;

	(void)state;
	assert_int_equal(error_set(&err, BRIG_E_INPUT, 0, "x"), -EINVAL);
	assert_int_equal(err.errnum, 0);
	assert_int_equal(error_set(&err, BRIG_E_INPUT, -EPERM, "x"), -EPERM);
	assert_int_equal(err.errnum, EPERM);
	assert_int_equal(error_errno(&err, BRIG_E_INPUT, -EPERM, "x"), -EPERM);
	assert_string_equal(err.message, "x: Operation not permitted");
	assert_int_equal(error_errno(&err, BRIG_E_INPUT, 0, "x"), -EINVAL);
	assert_string_equal(err.message, "x");
}

static void test_null(void **state)
{
	(void)state;
	assert_int_equal(error_set(NULL, BRIG_E_INPUT, ENOENT, "x"), -ENOENT);
	assert_int_equal(error_errno(NULL, BRIG_E_INPUT, ENOENT, "x"), -ENOENT);
	error_wrap(NULL, "x");
	error_remedy(NULL, "x");
	error_step(NULL, "x");
}

static void test_context(void **state)
{
	struct brig_error err;

	(void)state;
	error_errno(&err, BRIG_E_SYSTEM, EACCES, "open %s", "a");
	error_wrap(&err, "policy %s: ", "strict");
	error_remedy(&err, "chmod +r %s", "a");
	error_step(&err, "mount-root");
	assert_string_equal(err.message, "policy strict: open a: Permission denied");
	assert_string_equal(err.remedy, "chmod +r a");
	assert_string_equal(err.step, "mount-root");
	/* The old message may be an argument of the new one. */
	error_set(&err, BRIG_E_HOST, EACCES, "again: %s", err.message);
	assert_string_equal(err.message, "again: policy strict: open a: Permission denied");
}

static void test_one_line(void **state)
{
	struct brig_error err;

	(void)state;
	error_set(&err, BRIG_E_INPUT, EINVAL, "%s", "a\nb\x1b[2J\x7f");
	assert_string_equal(err.message, "a?b?[2J?");
}

static void test_cut(void **state)
{
	struct brig_error err;
	char text[2000];

	(void)state;
	/* Two-byte characters, at both alignments to the place of the cut. */
	for (size_t shift = 0; shift < 2; shift++) {
		memset(text, 'x', shift);
		for (size_t i = shift; i + 1 < sizeof(text); i += 2) {
			memcpy(text + i, "\xc3\xa9", 2);
		}
		text[sizeof(text) - 1] = '\0';
		error_set(&err, BRIG_E_INPUT, EINVAL, "%s", text);
		size_t size = strlen(err.message);
		assert_in_range(size, sizeof(err.message) - 3, sizeof(err.message) - 1);
		assert_string_equal(err.message + size - 3, "...");
		assert_int_equal((unsigned char)err.message[size - 4], 0xa9);
	}
	error_set(&err, BRIG_E_INPUT, EINVAL, "short");
	error_wrap(&err, "%.*s", 509, text);
	assert_string_equal(err.message + strlen(err.message) - 3, "...");
	error_step(&err, text);
	assert_int_equal(strlen(err.step), sizeof(err.step) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_set),      cmocka_unit_test(test_never_success),
		cmocka_unit_test(test_null),     cmocka_unit_test(test_context),
		cmocka_unit_test(test_one_line), cmocka_unit_test(test_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
