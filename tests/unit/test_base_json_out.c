/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON writer: commas, escapes, numbers; jansson parses its output. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json/json_out.h"

static char *quoted(const char *text, size_t size)
{
	struct buf buf = { 0 };
	struct json_out out = { .buf = &buf };

	json_textn(&out, NULL, text, size);
	return buf_take(&buf);
}

static void test_structure(void **state)
{
	struct buf buf = { 0 };
	struct json_out out = { .buf = &buf };

	(void)state;
	json_open(&out, NULL, '{');
	json_text(&out, "a", "x");
	json_text(&out, "none", NULL);
	json_open(&out, "list", '[');
	json_int(&out, NULL, INT64_MIN);
	json_u64(&out, NULL, UINT64_MAX);
	json_open(&out, NULL, '{');
	json_close(&out, '}');
	json_open(&out, NULL, '[');
	json_close(&out, ']');
	json_close(&out, ']');
	json_bool(&out, "yes", true);
	json_bool(&out, "no", false);
	json_nil(&out, "nil");
	json_raw(&out, "raw", "[1,2]");
	json_text(&out, "a \"key\"\n", "");
	json_close(&out, '}');
	char *text = buf_take(&buf);
	assert_string_equal(text, "{\"a\":\"x\",\"none\":null,"
				  "\"list\":[-9223372036854775808,18446744073709551615,{},[]],"
				  "\"yes\":true,\"no\":false,\"nil\":null,\"raw\":[1,2],"
				  "\"a \\\"key\\\"\\n\":\"\"}");
	free(text);
}

static void test_escapes(void **state)
{
	static const struct {
		const char *text, *json;
	} cases[] = {
		{ "", "\"\"" },
		{ "a\"b\\c/d", "\"a\\\"b\\\\c/d\"" },
		{ "\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\"" },
		{ "\x01\x1b[0m\x7f", "\"\\u0001\\u001b[0m\\u007f\"" },
		{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
		  "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"" },
		{ "\xc2\x9b"
		  "31m",
		  "\"\\u009b31m\"" },
		{ "\xe2\x80\xa8\xe2\x80\xa9", "\"\\u2028\\u2029\"" },
		{ "\xe2\x80\xae"
		  "x\xe2\x81\xa6",
		  "\"\\u202ex\\u2066\"" },
		{ "\xd8\x9c\xe2\x80\x8e\xe2\x80\x8f", "\"\\u061c\\u200e\\u200f\"" },
		{ "a\xff"
		  "b",
		  "\"a\\ufffdb\"" },
		{ "\xe2\x82", "\"\\ufffd\"" },
		{ "\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"" },
		{ "\xc3\"", "\"\\ufffd\\\"\"" },
		{ "\xe2\x80\xaf", "\"\xe2\x80\xaf\"" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *json = quoted(cases[i].text, strlen(cases[i].text));
		assert_string_equal(json, cases[i].json);
		free(json);
	}
	char *json = quoted("a\0b", 3);
	assert_string_equal(json, "\"a\\u0000b\"");
	free(json);
	json = quoted(NULL, 0);
	assert_string_equal(json, "\"\"");
	free(json);
}

/* Each character by itself, through another reader than ours. */
static void test_every_character(void **state)
{
	(void)state;
	for (uint32_t c = 1; c <= 0x10ffff; c += c < 0x3000 ? 1 : 61) {
		char text[8];
		size_t size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
		const unsigned char marks[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
		uint32_t rest = c;

		if (c >= 0xd800 && c <= 0xdfff) {
			continue;
		}
		for (size_t i = size - 1; i > 0; i--, rest >>= 6) {
			text[i] = (char)(0x80 | (rest & 63));
		}
		text[0] = (char)(marks[size] | rest);
		char *json = quoted(text, size);
		json_t *value = json_loads(json, JSON_DECODE_ANY, NULL);
		assert_non_null(value);
		assert_int_equal(json_string_length(value), size);
		assert_memory_equal(json_string_value(value), text, size);
		json_decref(value);
		free(json);
	}
}

static void test_base64(void **state)
{
	static const struct {
		const char *text, *json;
	} cases[] = {
		{ "", "\"\"" },
		{ "f", "\"Zg==\"" },
		{ "fo", "\"Zm8=\"" },
		{ "foo", "\"Zm9v\"" },
		{ "foob", "\"Zm9vYg==\"" },
		{ "\xff\xfe\xfd\xfb\xef\xbe", "\"//79++++\"" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf buf = { 0 };
		struct json_out out = { .buf = &buf };
		json_base64(&out, NULL, cases[i].text, strlen(cases[i].text));
		char *json = buf_take(&buf);
		assert_string_equal(json, cases[i].json);
		free(json);
	}
}

/* Around the boundaries of the chunk that it works in. */
static void test_base64_long(void **state)
{
	char zeros[10000] = { 0 };

	(void)state;
	for (size_t size = 3060; size < 3090; size++) {
		struct buf buf = { 0 };
		struct json_out out = { .buf = &buf };
		json_base64(&out, NULL, zeros, size);
		assert_int_equal(buf.size, (size + 2) / 3 * 4 + 2);
		assert_int_equal(strspn(buf.data + 1, "A"),
				 size / 3 * 4 + (size % 3 ? size % 3 + 1 : 0));
		buf_done(&buf);
	}
}

static void test_ms(void **state)
{
	static const struct {
		uint64_t ns;
		const char *json;
	} cases[] = {
		{ 0, "0" },
		{ 499, "0" },
		{ 500, "0.001" },
		{ 1000, "0.001" },
		{ 1900000, "1.9" },
		{ 1999999, "2" },
		{ 10000000, "10" },
		{ 1234567, "1.235" },
		{ UINT64_C(30000000000), "30000" },
		{ UINT64_MAX, "18446744073709.552" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf buf = { 0 };
		struct json_out out = { .buf = &buf };
		json_ms(&out, NULL, cases[i].ns);
		assert_string_equal(buf.data, cases[i].json);
		buf_done(&buf);
	}
}

static void test_harmless(void **state)
{
	static const char in[] = "{\"a\\n\":\"\xc2\x9b"
				 "6n\x7f\xe2\x80\xae\xc3\xbc\xff\x1b\"}\n";
	struct buf buf = { 0 };

	(void)state;
	json_add_harmless(&buf, in, sizeof(in) - 1);
	assert_string_equal(buf.data,
			    "{\"a\\n\":\"\\u009b6n\\u007f\\u202e\xc3\xbc\\ufffd\\u001b\"}\n");
	buf_done(&buf);
}

static void test_large(void **state)
{
	size_t size = (size_t)8 << 20;
	char *text = malloc(size);

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; i < size; i++) {
		text[i] = (char)(i % 251);
	}
	char *json = quoted(text, size);
	assert_non_null(json);
	assert_true(utf8_valid(json, strlen(json)));
	free(json);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_structure),       cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_every_character), cmocka_unit_test(test_base64),
		cmocka_unit_test(test_base64_long),     cmocka_unit_test(test_ms),
		cmocka_unit_test(test_large),           cmocka_unit_test(test_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
