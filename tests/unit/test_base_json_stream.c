/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that arrive in parts: wherever they are cut, the result is the same as for the whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/bytes/buf.h"
#include "base/bytes/sha256.h"
#include "base/cleanup.h"
#include "base/json/json_stream.h"

#define LONG "0123456789012345678901234567890123456789012345678901234567890123456789"
#define B64                                                                                        \
	"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0+Pw=="
#define B64_BYTES 64

#define BOUNDS                                                                                     \
	{                                                                                          \
		.depth = 8, .values = 1000, .plain_max = 4096                                      \
	}
static const struct json_place places[] = {
	{ "text", false, true },
	{ "bytes", true, false },
	{ "files.*", false, false },
	{ "files.*.bytes", true, false },
};
static const struct json_stream_options all_back = { .bounds = BOUNDS };
static const struct json_stream_options kept = { .bounds = BOUNDS,
						 .places = places,
						 .places_count = ARRAY_SIZE(places) };

static json_t *load_parts(const struct json_stream_options *options, const char *text, size_t part,
			  struct json_longs **longs, struct json_refusal *why)
{
	struct json_stream *stream = json_stream_new(options);
	size_t size = strlen(text);

	assert_non_null(stream);
	for (size_t at = 0; at < size; at += part) {
		json_stream_take(stream, text + at, size - at < part ? size - at : part);
	}
	json_t *root = json_stream_end(stream, longs, why);
	json_stream_free(stream);
	return root;
}

static const char *const texts[] = {
	"{}",
	" [1, 2.5, true, null, \"x\"] ",
	"{\"a\":\"" LONG "\",\"b\":[\"" LONG "\",\"short\",{\"c\":\"" LONG "\"}]}",
	"{\"" LONG "\":\"" LONG "\",\"" LONG LONG "\" \n :  1}",
	"[\"\\u00010\",\"\\u00011\",\"" LONG "\",\"\\u0001\"]",
	"[\"" LONG "\\\"\\\\\\/\\b\\f\\n\\r\\t\\u20ac\\ud83d\\ude00\"]",
	"[\"" LONG "\xe2\x82\xac\xf0\x9f\x98\x80\x7f\"]",
	"{\"bytes\":\"" B64 "\",\"text\":\"" B64 "\",\"files\":{\"bytes\":\"" B64 "\"}}",
	"{\"files\":{\"a\":\"" LONG "\",\"b\":{\"bytes\":\"" B64 "\"}}}",
	"{\"bytes\":\"" B64 B64 "\"}",
	"{\"bytes\":\"" LONG "!" LONG "\",\"text\":[\"" LONG "\"]}",
	"{\"bytes\":\"\\u00010\",\"text\":\"" LONG "\"}",
	"{\"by\\u0074es\":\"" B64 "\",\"bytes.\":\"" B64 "\"}",
	"{\"text\":\"" LONG "\",\"text\":1}",
	/* invalid texts */
	"",
	"1",
	"\"" LONG "\"",
	"{",
	"[\"" LONG "",
	"[\"" LONG "\\",
	"[\"" LONG "\\x\"]",
	"[\"" LONG "\\u12g4\"]",
	"[\"" LONG "\\ud800\"]",
	"[\"" LONG "\\ud800\\u0041\"]",
	"[\"" LONG "\\u0000\"]",
	"[\"" LONG "\xe2\x82\"]",
	"[\"" LONG "\xc0\x80\"]",
	"[\"" LONG "\n\"]",
	"{\"a\":\"" LONG "\"\"" LONG "\"}",
	"[\"" LONG "\"]]",
};

static void test_cuts_change_nothing(void **state)
{
	const struct json_bounds bounds = BOUNDS;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		json_t *whole = json_bounded_load(texts[i], strlen(texts[i]), &bounds, NULL);
		for (size_t part = 1; part <= strlen(texts[i]) + 1; part++) {
			struct json_longs *longs = NULL;
			struct json_refusal why;
			json_t *root = load_parts(&all_back, texts[i], part, &longs, &why);
			if (!root != !whole || (root && !json_equal(root, whole))) {
				fail_msg("%s in parts of %zu", texts[i], part);
			}
			json_decref(root);
			json_longs_unref(longs);
		}
		json_decref(whole);
	}
}

static json_t *keep(const char *text, size_t part, struct json_longs **longs)
{
	struct json_refusal why;
	json_t *root = load_parts(&kept, text, part, longs, &why);

	assert_non_null(root);
	return root;
}

static void test_long_ones_stay_in_the_file(void **state)
{
	const char *data;
	size_t size;

	(void)state;
	for (size_t part = 1; part < 200; part += 7) {
		struct json_longs *longs = NULL;
		json_t *root = keep(texts[7], part, &longs);
		assert_true(json_longs_find(longs, json_object_get(root, "text"), &data, &size));
		assert_int_equal(size, strlen(B64));
		assert_string_equal(data, B64);
		struct sha256 hash;
		char hex[SHA256_HEX_SIZE];
		sha256_init(&hash);
		sha256_add(&hash, B64, strlen(B64));
		sha256_hex(&hash, hex);
		assert_string_equal(json_longs_sha256(longs, json_object_get(root, "text")), hex);
		assert_null(json_longs_sha256(longs, json_object_get(root, "bytes")));
		assert_true(json_longs_find(longs, json_object_get(root, "bytes"), &data, &size));
		assert_int_equal(size, B64_BYTES);
		for (int i = 0; i < B64_BYTES; i++) {
			assert_int_equal(data[i], i);
		}
		assert_int_equal(data[B64_BYTES], 0);
		/* A file of that name is text: the decoded bytes are encoded again. */
		json_t *file = json_object_get(json_object_get(root, "files"), "bytes");
		assert_false(json_longs_find(longs, file, &data, &size));
		assert_string_equal(json_string_value(file), B64);
		assert_true(json_longs_block(longs)->fd >= 0);
		json_decref(root);
		json_longs_unref(longs);
	}
}

/* A string that only looks like a mark, or like base64, stays as it is. */
/*
 * A key written with an escape is not recognised while its string arrives: the hash would be
 * missing.
 */
static void test_a_hash_is_never_missing(void **state)
{
	struct json_longs *longs = NULL;
	const char *data;
	size_t size;
	json_t *root = keep("{\"t\\u0065xt\":\"" LONG "\"}", 7, &longs);

	(void)state;
	assert_false(json_longs_find(longs, json_object_get(root, "text"), &data, &size));
	assert_string_equal(json_string_value(json_object_get(root, "text")), LONG);
	json_decref(root);
	json_longs_unref(longs);
}

static void test_nothing_is_mistaken(void **state)
{
	static const struct {
		const char *text, *key, *is;
	} cases[] = {
		{ "{\"bytes\":\"\\u00010\",\"text\":\"" LONG "\"}", "bytes", "\0010" },
		{ "{\"bytes\":\"" LONG "!" LONG "\"}", "bytes", LONG "!" LONG },
		{ "{\"bytes\":\"" B64 B64 "\"}", "bytes", B64 B64 },
		{ "{\"bytes\":\"" B64 "A\"}", "bytes", B64 "A" },
		{ "{\"bytes\":\"====" LONG "\"}", "bytes", "====" LONG },
		{ "{\"other\":\"" B64 "\"}", "other", B64 },
	};
	const char *data;
	size_t size;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (size_t part = 1; part < 100; part += 3) {
			struct json_longs *longs = NULL;
			json_t *root = keep(cases[i].text, part, &longs);
			json_t *value = json_object_get(root, cases[i].key);
			assert_false(json_longs_find(longs, value, &data, &size));
			assert_string_equal(json_string_value(value), cases[i].is);
			json_decref(root);
			json_longs_unref(longs);
		}
	}
}

static void test_bounds_hold(void **state)
{
	static const struct {
		const char *begin, *again, *end;
		int count;
		enum json_refusal_kind kind;
	} cases[] = {
		{ "", "[", "", 9, JSON_TOO_DEEP },
		{ "[", "1,", "1]", 1001, JSON_TOO_MANY },
		{ "{\"", "k", "\":1}", 5000, JSON_TOO_MANY },
		{ "{\"", "k", "", 5000, JSON_TOO_MANY },
		{ "[", "\"short\",", "1]", 900, JSON_TOO_MANY },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf text = { 0 };
		struct json_longs *longs = NULL;
		struct json_refusal why;
		buf_adds(&text, cases[i].begin);
		for (int j = 0; j < cases[i].count; j++) {
			buf_adds(&text, cases[i].again);
		}
		buf_adds(&text, cases[i].end);
		assert_null(load_parts(&kept, text.data, 100, &longs, &why));
		assert_null(longs);
		assert_int_equal(why.kind, cases[i].kind);
		buf_done(&text);
	}
}

/* After a text is refused, nothing more of it is stored, however much arrives. */
static void test_refused_holds_nothing(void **state)
{
	struct json_stream *stream = json_stream_new(&kept);
	struct json_longs *longs = NULL;
	struct json_refusal why;

	(void)state;
	json_stream_take(stream, "[\"" LONG, strlen("[\"" LONG));
	assert_true(json_stream_held(stream) > 64);
	/* An escape may continue in the next part: it is checked when that has arrived. */
	json_stream_take(stream, "\\x", 2);
	json_stream_take(stream, LONG, strlen(LONG));
	size_t held = json_stream_held(stream);
	for (int i = 0; i < 1000; i++) {
		json_stream_take(stream, LONG, strlen(LONG));
	}
	assert_int_equal(json_stream_held(stream), held);
	assert_true(held < 4096);
	assert_null(json_stream_end(stream, &longs, &why));
	assert_int_equal(why.kind, JSON_NOT_JSON);
	json_stream_free(stream);
}

/* Without a descriptor for the file the error is a shortage, not an error in the text. */
static void test_shortage_is_told(void **state)
{
	struct json_longs *longs = NULL;
	struct json_refusal why;
	struct rlimit before, none;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	json_t *root = load_parts(&kept, texts[2], 50, &longs, &why);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_null(root);
	assert_int_equal(why.kind, JSON_NO_MEMORY);
}

/*
 * Restoring a decoded string takes memory, which is bounded. A string that is not base64 is
 * detected without restoring it.
 */
static void test_what_goes_back_is_bounded(void **state)
{
	static const struct json_stream_options bounded = { .bounds = BOUNDS,
							    .places = places,
							    .places_count = ARRAY_SIZE(places),
							    .back_max = 100 };
	struct json_longs *longs = NULL;
	struct json_refusal why;

	(void)state;
	assert_null(load_parts(&bounded, texts[2], 50, &longs, &why));
	assert_int_equal(why.kind, JSON_TOO_MANY);
	json_t *root = load_parts(&bounded, "{\"x\":\"" LONG "\"}", 50, &longs, &why);
	assert_string_equal(json_string_value(json_object_get(root, "x")), LONG);
	json_decref(root);
	json_longs_unref(longs);
	root = load_parts(&bounded, "{\"bytes\":\"" LONG "!" LONG "\"}", 50, &longs, &why);
	assert_string_equal(json_string_value(json_object_get(root, "bytes")), "!");
	json_decref(root);
	json_longs_unref(longs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cuts_change_nothing),
		cmocka_unit_test(test_long_ones_stay_in_the_file),
		cmocka_unit_test(test_a_hash_is_never_missing),
		cmocka_unit_test(test_nothing_is_mistaken),
		cmocka_unit_test(test_bounds_hold),
		cmocka_unit_test(test_refused_holds_nothing),
		cmocka_unit_test(test_shortage_is_told),
		cmocka_unit_test(test_what_goes_back_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
