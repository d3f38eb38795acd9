/* SPDX-License-Identifier: Apache-2.0 */
/* The string list: an argv at every length. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/strlist.h"

static void test_grow(void **state)
{
	struct strlist list = { 0 };

	(void)state;
	for (size_t i = 0; i < 5000; i++) {
		assert_int_equal(strlist_addf(&list, "item %zu", i), 0);
		assert_int_equal(list.count, i + 1);
		assert_null(list.items[list.count]);
	}
	assert_string_equal(list.items[0], "item 0");
	assert_string_equal(list.items[7], "item 7");
	assert_string_equal(list.items[4999], "item 4999");
	strlist_done(&list);
	assert_null(list.items);
	assert_int_equal(list.count, 0);
}

static void test_has(void **state)
{
	struct strlist list = { 0 };

	(void)state;
	assert_false(strlist_has(&list, "a"));
	assert_int_equal(strlist_add(&list, "a"), 0);
	assert_int_equal(strlist_add(&list, ""), 0);
	assert_true(strlist_has(&list, "a"));
	assert_true(strlist_has(&list, ""));
	assert_false(strlist_has(&list, "A"));
	strlist_done(&list);
}

static void test_insert(void **state)
{
	static const char *const want[] = { "0", "1", "2", "3", "4", "5", "6", "7", "8", NULL };
	struct strlist list = { 0 };

	(void)state;
	assert_int_equal(strlist_insert(&list, 5, "8"), 0); /* beyond the end: at the end */
	assert_int_equal(strlist_insert(&list, 0, "0"), 0);
	for (size_t i = 1; i < 8; i++) {
		assert_int_equal(strlist_insert(&list, i, want[i]), 0);
	}
	assert_int_equal(list.count, 9);
	for (size_t i = 0; i < list.count; i++) {
		assert_string_equal(list.items[i], want[i]);
	}
	assert_null(list.items[list.count]);
	strlist_done(&list);
}

/* A caller that drops the last items and adds others has room for them. */
static void test_shrink(void **state)
{
	struct strlist list = { 0 };

	(void)state;
	for (int round = 0; round < 40; round++) {
		for (int i = 0; i < round; i++) {
			assert_int_equal(strlist_add(&list, "x"), 0);
		}
		for (int i = 0; i < round / 2; i++) {
			free(list.items[--list.count]);
			list.items[list.count] = NULL;
		}
	}
	strlist_done(&list);
	strlist_done(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_grow),
		cmocka_unit_test(test_has),
		cmocka_unit_test(test_insert),
		cmocka_unit_test(test_shrink),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
