/* SPDX-License-Identifier: Apache-2.0 */
/* A value was left in memory by a program that may be hostile: strict JSON, or nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lib/guard/value.h"
#include "run/run.h"

static char *repr; /* of the last one */

static char *value_of(const void *bytes, size_t size)
{
	int fd = memfd_create("value", MFD_CLOEXEC);

	assert_int_equal(ftruncate(fd, RUN_VALUE_BYTES), 0);
	assert_int_equal(pwrite(fd, bytes, size, 0), (ssize_t)size);
	char *value = value_read(fd, 0, &repr);
	close(fd);
	return value;
}

static void takes_json(void **state)
{
	static const struct {
		const char *left, *value;
	} cases[] = {
		{ "1", "1" },
		{ "null", "null" },
		{ " [1, 2,\n3] ", "[1,2,3]" },
		{ "{\"a\": \"\xc3\xa9\"}", "{\"a\":\"\\u00E9\"}" },
		{ "\"x\"", "\"x\"" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *value = value_of(cases[i].left, strlen(cases[i].left));
		assert_non_null(value);
		assert_string_equal(value, cases[i].value);
		free(value);
	}
}

static void takes_nothing_else(void **state)
{
	static const char *const cases[] = { "",     "1 2",         "NaN",
					     "{",    "{'a': 1}",    "{\"a\":1,\"a\":2}",
					     "[1,]", "\"\xff\xfe\"" };
	char deep[400];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_null(value_of(cases[i], strlen(cases[i])));
	}
	memset(deep, '[', 200);
	memset(deep + 200, ']', 200);
	assert_null(value_of(deep, sizeof(deep)));
	char *full = malloc(RUN_VALUE_BYTES);
	memset(full, '[', RUN_VALUE_BYTES);
	assert_null(value_of(full, RUN_VALUE_BYTES));
	free(full);
}

static void takes_how_it_is_shown(void **state)
{
	static const char shown[] = "r\"<x \\u00e9\\n>\"";
	static const char *const wrong[] = {
		"r", "r1", "r{}", "rx", "r\"\"", "r\"a\" 1", "R\"a\""
	};

	(void)state;
	assert_null(value_of(shown, strlen(shown)));
	assert_string_equal(repr, "<x \xc3\xa9\n>");
	free(repr);
	repr = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		assert_null(value_of(wrong[i], strlen(wrong[i])));
		assert_null(repr);
	}
	char *full = malloc(RUN_VALUE_BYTES);
	memset(full, 'x', RUN_VALUE_BYTES);
	memcpy(full, "r\"", 2);
	full[RUN_VALUE_BYTES - 1] = '"';
	assert_null(value_of(full, RUN_VALUE_BYTES));
	assert_null(repr);
	free(full);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_json),
		cmocka_unit_test(takes_nothing_else),
		cmocka_unit_test(takes_how_it_is_shown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
