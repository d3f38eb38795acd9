/* SPDX-License-Identifier: Apache-2.0 */
/* Run ids and names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/id.h"

static void test_make(void **state)
{
	static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
	char ids[1000][27];

	(void)state;
	uint64_t before = (uint64_t)time(NULL) * 1000;
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		assert_int_equal(id_make(ids[i]), 0);
		assert_true(id_valid(ids[i]));
		assert_true(id_name_valid(ids[i]));
		/* Sortable: the time part never goes back. */
		assert_true(i == 0 || memcmp(ids[i - 1], ids[i], 10) <= 0);
		for (size_t j = 0; j < i; j++) {
			assert_string_not_equal(ids[i] + 10, ids[j] + 10);
		}
	}
	uint64_t ms = 0;
	for (size_t i = 0; i < 10; i++) {
		ms = ms << 5 | (uint64_t)(strchr(alphabet, ids[0][i]) - alphabet);
	}
	assert_in_range(ms, before, before + 60000);
}

/* Every one of the 80 bits must occur both set and clear. */
static void test_random_bits(void **state)
{
	unsigned seen_one[16] = { 0 };
	unsigned seen_zero[16] = { 0 };
	static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
	char id[27];

	(void)state;
	for (int round = 0; round < 200; round++) {
		assert_int_equal(id_make(id), 0);
		for (size_t i = 0; i < 16; i++) {
			unsigned digit = (unsigned)(strchr(alphabet, id[10 + i]) - alphabet);
			seen_one[i] |= digit;
			seen_zero[i] |= ~digit & 31;
		}
	}
	for (size_t i = 0; i < 16; i++) {
		assert_int_equal(seen_one[i], 31);
		assert_int_equal(seen_zero[i], 31);
	}
}

static void test_valid(void **state)
{
	static const char *const wrong[] = {
		"",
		"01ARZ3NDEKTSV4RRFFQ69G5FA",   /* 25 */
		"01ARZ3NDEKTSV4RRFFQ69G5FAVX", /* 27 */
		"01arz3ndektsv4rrffq69g5fav",  /* lower case */
		"81ARZ3NDEKTSV4RRFFQ69G5FAV",  /* over 128 bits */
		"01ARZ3NDEKTSV4RRFFQ69G5FAI",
		"01ARZ3NDEKTSV4RRFFQ69G5FAL",
		"01ARZ3NDEKTSV4RRFFQ69G5FAO",
		"01ARZ3NDEKTSV4RRFFQ69G5FAU",
		"01ARZ3NDEKTSV4RRFFQ69G5F/V",
		"\3771ARZ3NDEKTSV4RRFFQ69G5FAV",
	};

	(void)state;
	assert_true(id_valid("01ARZ3NDEKTSV4RRFFQ69G5FAV"));
	assert_true(id_valid("7ZZZZZZZZZZZZZZZZZZZZZZZZZ"));
	assert_false(id_valid(NULL));
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		assert_false(id_valid(wrong[i]));
	}
}

static void test_name(void **state)
{
	char name[66];

	(void)state;
	assert_true(id_name_valid("default"));
	assert_true(id_name_valid("Python3.11_x-y"));
	assert_true(id_name_valid("_"));
	assert_true(id_name_valid("a..b"));
	assert_false(id_name_valid(NULL));
	assert_false(id_name_valid(""));
	assert_false(id_name_valid("."));
	assert_false(id_name_valid(".."));
	assert_false(id_name_valid("-rf"));
	assert_false(id_name_valid("a/b"));
	assert_false(id_name_valid("a b"));
	assert_false(id_name_valid("a\n"));
	assert_false(id_name_valid("\xc3\xa9"));
	memset(name, 'a', sizeof(name));
	name[64] = '\0';
	assert_true(id_name_valid(name));
	name[64] = 'a';
	name[65] = '\0';
	assert_false(id_name_valid(name));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_make),
		cmocka_unit_test(test_random_bits),
		cmocka_unit_test(test_valid),
		cmocka_unit_test(test_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
