/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Untrusted text on a terminal: what passes, what is shown escaped, and that pieces do not matter.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/cleanup.h"
#include "cli/terminal_escape.h"

static const struct {
	const char *in;
	const char *out;
} cases[] = {
	{ "plain text\n\tand a tab\n", "plain text\n\tand a tab\n" },
	{ "gr\xc3\xbc\xc3\x9f dich \xe4\xbd\xa0\xe5\xa5\xbd \xf0\x9f\x98\x80",
	  "gr\xc3\xbc\xc3\x9f dich \xe4\xbd\xa0\xe5\xa5\xbd \xf0\x9f\x98\x80" },
	{ "\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m" },
	{ "\x1b]52;c;cm0=\x07", "\\x1b]52;c;cm0=\\x07" },
	{ "a\bb\x7f", "a\\x08b\\x7f" },
	{ "line\r\nnext", "line\nnext" },
	{ "safe\revil", "safe\\revil" },
	{ "end\r", "end\\r" },
	{ "two\r\r\n", "two\\r\n" },
	{ "\xc2\x9b"
	  "31m",
	  "\\u{9b}31m" },    /* C1: CSI in one character */
	{ "\x9b", "\\x9b" }, /* the same byte alone is not a character */
	{ "a\xe2\x80\xae"
	  "b",
	  "a\\u{202e}b" },                    /* right-to-left override */
	{ "\xf3\xa0\x81\x81", "\\u{e0041}" }, /* a tag */
	{ "\xff\xfe", "\\xff\\xfe" },         /* never UTF-8 */
	{ "\xc0\xaf", "\\xc0\\xaf" },         /* overlong */
	{ "\xe2\x82", "\\xe2\\x82" },         /* cut at the end */
	{ "\xe2\x82\r\n", "\\xe2\\x82\n" },   /* cut by a newline */
	{ "\xe2\x82"
	  "A",
	  "\\xe2\\x82"
	  "A" },
	{ "\xf0\x9f\x98\x1b", "\\xf0\\x9f\\x98\\x1b" },
};

static char *shown(const char *in, size_t size, size_t piece)
{
	struct terminal_escape terminal = { 0 };
	struct buf out = { 0 };

	for (size_t at = 0; at < size; at += piece) {
		terminal_escape_add(&terminal, in + at, size - at < piece ? size - at : piece,
				    &out);
	}
	terminal_escape_end(&terminal, &out);
	return buf_take(&out);
}

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (size_t piece = 1; piece <= 5; piece++) {
			_cleanup_free_ char *out = shown(cases[i].in, strlen(cases[i].in), piece);
			assert_string_equal(out, cases[i].out);
		}
	}
}

static void test_nul(void **state)
{
	_cleanup_free_ char *out = shown("a\0b", 3, 3);

	(void)state;
	assert_string_equal(out, "a\\x00b");
}

/* For any input, the output contains no control sequence. */
static void test_any_bytes(void **state)
{
	char bytes[4096];
	uint32_t seed = 12345;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++) {
		seed = seed * 1103515245u + 12345u;
		bytes[i] = (char)(seed >> 16);
	}
	for (size_t piece = 1; piece < 8; piece++) {
		_cleanup_free_ char *out = shown(bytes, sizeof(bytes), piece);
		_cleanup_free_ char *whole = shown(bytes, sizeof(bytes), sizeof(bytes));
		assert_string_equal(out, whole);
		for (const char *c = out; *c; c++) {
			assert_true(*c == '\n' || *c == '\t' || (unsigned char)*c >= 0x20);
			assert_true(*c != 0x7f);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_nul),
		cmocka_unit_test(test_any_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
