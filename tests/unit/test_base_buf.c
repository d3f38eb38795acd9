/* SPDX-License-Identifier: Apache-2.0 */
/* The byte buffer: growth, formats, sticky failure, moving out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/bytes/buf.h"

static void test_empty(void **state)
{
	struct buf buf = { 0 };

	(void)state;
	char *text = buf_take(&buf);
	assert_string_equal(text, "");
	free(text);
	buf_add(&buf, NULL, 0);
	assert_int_equal(buf.size, 0);
	buf_done(&buf);
	buf_done(NULL);
}

static void test_grow(void **state)
{
	struct buf buf = { 0 };

	(void)state;
	for (int i = 0; i < 100000; i++) {
		buf_addc(&buf, (char)('a' + i % 26));
		assert_int_equal(buf.data[buf.size], 0);
	}
	assert_false(buf.failed);
	assert_int_equal(buf.size, 100000);
	for (int i = 0; i < 100000; i++) {
		assert_int_equal(buf.data[i], 'a' + i % 26);
	}
	buf_done(&buf);
	assert_null(buf.data);
}

static void test_binary(void **state)
{
	struct buf buf = { 0 };

	(void)state;
	buf_add(&buf, "a\0b", 3);
	buf_adds(&buf, "cd");
	assert_int_equal(buf.size, 5);
	assert_memory_equal(buf.data, "a\0bcd", 6);
	buf_done(&buf);
}

/* Every length around the edges of the buffer's capacity. */
static void test_format(void **state)
{
	(void)state;
	for (int before = 0; before < 140; before++) {
		for (int size = 0; size < 140; size++) {
			struct buf buf = { 0 };
			char expected[300];
			memset(expected, 'x', (size_t)before);
			memset(expected + before, ' ', (size_t)size);
			expected[before + size] = '\0';
			buf_add(&buf, expected, (size_t)before);
			buf_addf(&buf, "%*s", size, "");
			char *text = buf_take(&buf);
			assert_string_equal(text, expected);
			free(text);
		}
	}
}

static void test_failure(void **state)
{
	struct buf buf = { 0 };

	(void)state;
	buf_adds(&buf, "kept");
	buf_add(&buf, "x", SIZE_MAX - 2);
	assert_true(buf.failed);
	buf_adds(&buf, "lost");
	buf_addf(&buf, "%d", 1);
	assert_int_equal(buf.size, 4);
	assert_null(buf_take(&buf));
	/* After its contents are taken, the buffer is as new. */
	assert_false(buf.failed);
	buf_adds(&buf, "new");
	assert_string_equal(buf.data, "new");
	buf_done(&buf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),   cmocka_unit_test(test_grow),
		cmocka_unit_test(test_binary),  cmocka_unit_test(test_format),
		cmocka_unit_test(test_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
