/* SPDX-License-Identifier: Apache-2.0 */
/* Large texts are parsed in another way than short ones: both must give the same result. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/bytes/base64.h"
#include "base/bytes/buf.h"
#include "base/cleanup.h"
#include "base/json/json_bounded.h"

static const struct json_bounds usual = { .depth = 8, .values = 1000 };
static const struct json_bounds with_nul = { .depth = 8, .values = 1000, .allow_nul = true };

/* The text with enough blanks before it to make it a large one. */
static json_t *load_large(const char *text, const struct json_bounds *bounds,
			  struct json_refusal *why)
{
	struct buf padded = { 0 };

	for (int i = 0; i < 20000; i++) {
		buf_addc(&padded, " \n\t\r"[i % 4]);
	}
	buf_adds(&padded, text);
	json_t *root = json_bounded_load(padded.data, padded.size, bounds, why);
	buf_done(&padded);
	return root;
}

#define LONG "0123456789012345678901234567890123456789012345678901234567890123456789"

static const char *const texts[] = {
	"{}",
	"[1, 2.5, true, null, \"x\"]",
	"{\"a\":\"" LONG "\",\"b\":[\"" LONG "\",\"short\",{\"c\":\"" LONG "\"}]}",
	"{\"" LONG "\":\"" LONG "\"}",
	"{\"" LONG "\" \n :  1}",
	"[\"\\u00010\",\"\\u00011\",\"" LONG "\",\"\\u0001\"]",
	"[\"" LONG "\\\"\\\\\\/\\b\\f\\n\\r\\t\\u20ac\\ud83d\\ude00\"]",
	"[\"" LONG "\xe2\x82\xac\xf0\x9f\x98\x80\x7f\"]",
	"[\"" LONG "\\u0000\"]",
	"[\"\\u0000\"]",
	/* invalid texts */
	"",
	"1",
	"\"" LONG "\"",
	"{",
	"[\"" LONG "",
	"[\"" LONG "\\",
	"[\"" LONG "\\\"",
	"[\"" LONG "\\x\"]",
	"[\"" LONG "\\u12g4\"]",
	"[\"" LONG "\\u12\"]",
	"[\"" LONG "\\ud800\"]",
	"[\"" LONG "\\ud800\\u0041\"]",
	"[\"" LONG "\\udc00\"]",
	"[\"" LONG "\n\"]",
	"[\"" LONG "\x01\"]",
	"[\"" LONG "\xff\"]",
	"[\"" LONG "\xc0\x80\"]",
	"[\"" LONG "\xed\xa0\x80\"]",
	"[\"" LONG "\" \"" LONG "\"]",
	"[1 2]",
	"[1,]",
	"{\"a\":1,\"a\":2}",
	"{\"a\":\"" LONG "\",\"a\":\"" LONG "\"}",
	"{} {}",
	"[[[[[[[[[1]]]]]]]]]",
	"[\"" LONG "\"]x",
};

static void test_both_ways(void **state)
{
	const struct json_bounds *bounds[] = { &usual, &with_nul };

	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(bounds); k++) {
		for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
			struct json_refusal a = { 0 }, b = { 0 };
			json_t *plain =
				json_bounded_load(texts[i], strlen(texts[i]), bounds[k], &a);
			json_t *large = load_large(texts[i], bounds[k], &b);

			if (!!plain != !!large || (!plain && a.kind != b.kind)) {
				fail_msg("%s: %s, %s", texts[i], a.text, b.text);
			}
			assert_true(!plain || json_equal(plain, large));
			assert_true(plain || (a.text[0] && b.text[0] && b.line == 0));
			json_decref(plain);
			json_decref(large);
		}
	}
}

/* Against jansson alone, which has neither bounds nor shortcuts. */
static void test_the_same_as_jansson(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		json_t *theirs = json_loads(texts[i], JSON_REJECT_DUPLICATES, NULL);
		json_t *ours = load_large(texts[i], &usual, NULL);

		if (json_array_size(theirs) == 1 && json_is_array(json_array_get(theirs, 0))) {
			assert_null(ours); /* the one that is too deep */
		} else if (theirs ? !ours || !json_equal(ours, theirs) : ours != NULL) {
			fail_msg("%s", texts[i]);
		}
		json_decref(theirs);
		json_decref(ours);
	}
}

static void test_bounds(void **state)
{
	struct json_bounds bounds = { .depth = 3, .values = 10, .plain_max = 1000 };
	struct json_refusal why;
	struct buf text = { 0 };

	(void)state;
	assert_null(json_bounded_load("[[[[]]]]", 8, &bounds, &why));
	assert_int_equal(why.kind, JSON_TOO_DEEP);
	assert_null(json_bounded_load("[1,1,1,1,1,1,1,1,1,1,1]", 23, &bounds, &why));
	assert_int_equal(why.kind, JSON_TOO_MANY);
	json_t *quoted = json_bounded_load("[\"[[[[[,,,,,,,,,,,,,\"]", 22, &bounds, &why);
	assert_non_null(quoted);
	json_decref(quoted);
	buf_adds(&text, "{\"");
	for (int i = 0; i < 20000; i++) {
		buf_addc(&text, 'k');
	}
	buf_adds(&text, "\":1}");
	assert_null(json_bounded_load(text.data, text.size, &bounds, &why));
	assert_int_equal(why.kind, JSON_TOO_MANY);
	buf_done(&text);
}

static void test_quotes_without_end(void **state)
{
	struct buf text = { 0 };
	struct json_refusal why;

	/* Escapes by the megabyte: linear, or this takes minutes. */
	(void)state;
	buf_adds(&text, "[\"");
	for (int i = 0; i < 1000000; i++) {
		buf_adds(&text, "\\\"\\\\");
	}
	assert_null(json_bounded_load(text.data, text.size, &usual, &why));
	assert_int_equal(why.kind, JSON_NOT_JSON);
	buf_adds(&text, "\"]");
	json_t *root = json_bounded_load(text.data, text.size, &usual, &why);
	assert_non_null(root);
	assert_int_equal(json_string_length(json_array_get(root, 0)), 2000000);
	json_decref(root);
	buf_done(&text);
}

static void test_base64(void **state)
{
	static const struct {
		const char *text, *bytes;
	} good[] = { { "", "" },
		     { "Zg==", "f" },
		     { "Zm8=", "fo" },
		     { "Zm9v", "foo" },
		     { "Zm9vYg==", "foob" },
		     { "Zm9vYmE=", "fooba" },
		     { "Zm9vYmFy", "foobar" },
		     { "+/+/", "\xfb\xff\xbf" } };
	static const char *const wrong[] = { "Z",
					     "Zg",
					     "Zg=",
					     "Zh==",
					     "Zm9=",
					     "Zg==Zg==",
					     "Zm 9",
					     "Zm9v\n",
					     "====",
					     "A===",
					     "Zm-_",
					     "Zm9v=",
					     "=m9v",
					     "Z=9v",
					     "Zm\xff"
					     "v" };
	unsigned char out[16];
	size_t size;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		assert_true(base64_decode(good[i].text, strlen(good[i].text), out, &size));
		assert_int_equal(size, strlen(good[i].bytes));
		assert_memory_equal(out, good[i].bytes, size);
	}
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		if (base64_decode(wrong[i], strlen(wrong[i]), out, &size)) {
			fail_msg("%s", wrong[i]);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_ways), cmocka_unit_test(test_the_same_as_jansson),
		cmocka_unit_test(test_bounds),    cmocka_unit_test(test_quotes_without_end),
		cmocka_unit_test(test_base64),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
