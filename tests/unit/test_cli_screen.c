/* SPDX-License-Identifier: Apache-2.0 */
/* The sequences that a program may send to its terminal, cut into any pieces. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/cleanup.h"
#include "cli/run/screen.h"

#define BAD "\xef\xbf\xbd"

static const struct {
	const char *in, *out;
} cases[] = {
	{ "plain\r\n\ttext", "plain\r\n\ttext" },
	{ "gr\xc3\xbc\xc3\x9f \xe4\xbd\xa0 \xf0\x9f\x98\x80",
	  "gr\xc3\xbc\xc3\x9f \xe4\xbd\xa0 \xf0\x9f\x98\x80" },
	{ "\x1b[1;31mred\x1b[0m\x1b[2J\x1b[3;4H", "\x1b[1;31mred\x1b[0m\x1b[2J\x1b[3;4H" },
	/* C1 controls: one character in UTF-8, one byte, and overlong */
	{ "\xc2\x9b"
	  "6n",
	  "6n" },
	{ "\xc2\x9d"
	  "52;c;aGk=\a",
	  "52;c;aGk=\a" },
	{ "\x9b"
	  "6n",
	  BAD "6n" },
	{ "\xe0\x82\x9b"
	  "6n",
	  BAD "6n" },
	{ "\xc2\x1b[6nx", BAD "x" },
	/* inside of a sequence that would pass by itself */
	{ "\x1b[\xc2\x9d"
	  "0;hi\a",
	  "i\a" },
	{ "\x1b[\x9d"
	  "0;hi\a",
	  "i\a" },
	{ "\x1b[1\x18"
	  "6n",
	  "6n" },
	{ "\x1b[3\n1mx", "x" },
	/* queries with the final letters of other commands */
	{ "\x1b[?4m\x1b[?1;1;0S\x1b[?u\x1b[>4m\x1b[?1$p\x1b[ q\x1b[0 S", "" },
	{ "\x1bP$qm\x1b\\\x1b_x\x1b\\\x1b^x\x1b\\\x1bXx\x1b\\ok", "ok" },
	{ "\x05", "" }, /* ENQ */
	{ "\x1b[999999C\x1b[9999b\x1b[80b", "\x1b[80b" },
	/* modes: the known ones */
	{ "\x1b[?12;25h\x1b[4h\x1b[4l", "\x1b[?12;25h\x1b[4h\x1b[4l\x1b[?12l" },
	{ "\x1b[2h\x1b[?2048h\x1b[?25;2048l\x1b[?5522h", "" },
	/* and the previous state is restored at the end */
	{ "\x1b[?1049h\x1b[?1003h\x1b[?1006h\x1b[?25l",
	  "\x1b[?1049h\x1b[?1003h\x1b[?1006h\x1b[?25l"
	  "\x1b[?25h\x1b[?1003l\x1b[?1006l\x1b[?1049l" },
	{ "\x1b[?1003h\x1b[?1003l", "\x1b[?1003h\x1b[?1003l" },
	{ "\x1b[?1003h\x1b"
	  "c",
	  "\x1b[?1003h\x1b"
	  "c" },
	{ "\x1b[8mx\x1b(0\x1b=", "\x1b[8mx\x1b(0\x1b=\x1b>\x1b(B\x1b[m" },
};

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		size_t size = strlen(cases[i].in);

		for (size_t piece = 1; piece <= size; piece++) {
			struct screen_filter filter = { 0 };
			_cleanup_(buf_done)
			struct buf out = { 0 };

			for (size_t at = 0; at < size; at += piece) {
				screen_filter_add(&filter, cases[i].in + at,
						  size - at < piece ? size - at : piece, &out);
			}
			screen_filter_end(&filter, &out);
			assert_string_equal(out.data ? out.data : "", cases[i].out);
		}
	}
}

static void test_overlong_sequence(void **state)
{
	struct screen_filter filter = { 0 };
	_cleanup_(buf_done)
	struct buf out = { 0 };

	(void)state;
	screen_filter_add(&filter, "\x1b[", 2, &out);
	for (unsigned i = 0; i < 200; i++) {
		screen_filter_add(&filter, "1;", 2, &out);
	}
	screen_filter_add(&filter, "mx", 2, &out);
	screen_filter_end(&filter, &out);
	assert_string_equal(out.data, "x");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_overlong_sequence),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
