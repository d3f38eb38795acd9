/* SPDX-License-Identifier: Apache-2.0 */
/* Strict UTF-8, both ways. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <string.h>

#include "base/bytes/utf8.h"
#include "base/cleanup.h"
#include "base/json/json_out.h"

static void test_every_character(void **state)
{
	(void)state;
	for (uint32_t c = 0; c <= 0x10ffff; c++) {
		char bytes[4];
		uint32_t back;
		size_t used;
		size_t size = utf8_write(c, bytes);
		bool surrogate = c >= 0xd800 && c <= 0xdfff;

		if (utf8_decode(bytes, size, &used, &back) == surrogate) {
			fail_msg("U+%04X", c);
		}
		if (!surrogate && (back != c || used != size)) {
			fail_msg("U+%04X became U+%04X", c, back);
		}
	}
}

static void test_valid(void **state)
{
	static const char mixed[] = "plain \xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 and more";
	static const char *const wrong[] = {
		"\x80",
		"\xbf",
		"\xc0\x80",
		"\xc1\xbf",
		"\xc3",
		"\xe0\x80\x80",
		"\xe0\x9f\xbf",
		"\xed\xa0\x80",
		"\xed\xbf\xbf",
		"\xe2\x82",
		"\xf0\x80\x80\x80",
		"\xf0\x8f\xbf\xbf",
		"\xf4\x90\x80\x80",
		"\xf5\x80\x80\x80",
		"\xfe",
		"\xff",
		"\xc3\xc3",
		"\xf0\x9f\x98",
		"\xf8\x88\x80\x80\x80",
	};

	(void)state;
	assert_true(utf8_valid(NULL, 0));
	assert_true(utf8_valid("a\0b", 3));
	assert_true(utf8_valid(mixed, sizeof(mixed) - 1));
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		char text[40];
		assert_false(utf8_valid(wrong[i], strlen(wrong[i])));
		/* At every offset: whole words of ASCII are skipped. */
		for (size_t before = 0; before < 17; before++) {
			memset(text, 'a', sizeof(text));
			memcpy(text + before, wrong[i], strlen(wrong[i]));
			assert_false(utf8_valid(text, sizeof(text)));
		}
	}
}

static void test_bad_part(void **state)
{
	static const struct {
		const char *text;
		size_t used;
	} parts[] = {
		{ "\x80"
		  "a",
		  1 },
		{ "\xe2\x82"
		  "a",
		  2 },
		{ "\xf0\x9f\x98"
		  "a",
		  3 },
		{ "\xed\xa0\x80", 1 },
		{ "\xc0\x80", 1 },
		{ "\xe2", 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		uint32_t c;
		size_t used;
		assert_false(utf8_decode(parts[i].text, strlen(parts[i].text), &used, &c));
		assert_int_equal(used, parts[i].used);
		assert_int_equal(c, 0xfffd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_character),
		cmocka_unit_test(test_valid),
		cmocka_unit_test(test_bad_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
