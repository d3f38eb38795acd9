/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON reader: comments, errors with their position, finding keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json/json_in.h"

static void test_comments(void **state)
{
	static const char text[] =
		"// head\n"
		"{ /* \xc3\xa9\xe2\x82\xac */ \"a\": \"x // y /* z */\", // tail \"\n"
		"  /* two\n"
		" lines **/ \"b\\\"//\": [1, /**/ 2 /*/ 3 */ ]\n"
		"} // end";
	struct json_doc doc;
	struct brig_error err;
	int line, column;

	(void)state;
	assert_int_equal(json_doc_load(&doc, "p.json", text, strlen(text), &err), 0);
	assert_string_equal(json_string_value(json_object_get(doc.root, "a")), "x // y /* z */");
	assert_int_equal(json_array_size(json_object_get(doc.root, "b\"//")), 2);
	json_doc_locate(&doc, "a", &line, &column);
	assert_int_equal(line, 2);
	assert_int_equal(column, 12); /* characters, not bytes */
	json_doc_locate(&doc, "b\"//[1]", &line, &column);
	assert_int_equal(line, 4);
	assert_int_equal(column, 30);
	json_doc_done(&doc);
	json_doc_done(&doc);
	json_doc_done(NULL);
}

struct refusal {
	const char *text, *message;
};

static const struct refusal refusals[] = {
	{ "", "f:1:1: '[' or '{' expected near end of file" },
	{ "5", "f:1:1: '[' or '{' expected near '5'" },
	{ "{}\n x", "f:2:2: end of file expected near 'x'" },
	{ "{} {}", "f:1:4: end of file expected near '{'" },
	{ "{\"a\": 1,\n  \"a\": 2}", "f:2:3: duplicate object key near '\"a\"'" },
	{ "{\"a\": 1,\n  \"\\u0061\": 2}", NULL },
	{ "{\"a\": tru}", "f:1:7: invalid token near 'tru'" },
	{ "/* \xc3\xa9 */ {\"a\": tru}", "f:1:15: invalid token near 'tru'" },
	{ "[1,]", "f:1:4: unexpected token near ']'" },
	{ "{} /* open", "f:1:4: this comment has no end" },
	{ "{}\n  /*/", "f:2:3: this comment has no end" },
	{ "{} /", "f:1:4: end of file expected near '/'" },
	{ "[\"\xc3\"]", "f:1:3: not valid UTF-8" },
	{ "{}\n// \xff", "f:2:4: not valid UTF-8" },
	{ "\xef\xbb\xbf{}", "f:1:1: a byte order mark" },
	{ "[\"\\u0000\"]", NULL },
	{ "[\"a\nb\"]", NULL },
	{ "['a']", NULL },
	{ "[NaN]", NULL },
	{ "[01]", NULL },
	{ "[1e999]", NULL },
	{ "[99999999999999999999]", NULL },
	{ "# x\n{}", NULL },
};

static void test_refusals(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		const struct refusal *r = &refusals[i];
		struct json_doc doc;
		struct brig_error err = { 0 };

		assert_int_equal(json_doc_load(&doc, "f", r->text, strlen(r->text), &err), -EINVAL);
		assert_null(doc.root);
		assert_null(doc.text);
		assert_int_equal(err.code, BRIG_E_POLICY);
		assert_int_equal(strncmp(err.message, "f:", 2), 0);
		assert_true(strlen(err.remedy) > 0);
		if (r->message) {
			assert_string_equal(err.message, r->message);
		}
		assert_int_equal(json_doc_load(&doc, NULL, r->text, strlen(r->text), NULL),
				 -EINVAL);
	}
}

static void test_nul(void **state)
{
	struct json_doc doc;
	struct brig_error err;

	(void)state;
	assert_int_equal(json_doc_load(&doc, "f", "{}\n \0", 5, &err), -EINVAL);
	assert_string_equal(err.message, "f:2:2: a NUL byte");
	assert_int_equal(json_doc_load(&doc, "f", "{} // \0\n", 8, &err), -EINVAL);
	assert_string_equal(err.message, "f:1:7: a NUL byte");
}

static void test_depth(void **state)
{
	struct json_doc doc;
	struct brig_error err;
	char text[200];

	(void)state;
	memset(text, '[', 32);
	memset(text + 32, ']', 32);
	assert_int_equal(json_doc_load(&doc, "f", text, 64, &err), 0);
	json_doc_done(&doc);
	memset(text, '[', 33);
	memset(text + 33, ']', 33);
	assert_int_equal(json_doc_load(&doc, "f", text, 66, &err), -EINVAL);
	assert_string_equal(err.message, "f:1:33: nested more than 32 deep");
	/* Brackets in strings and comments do not count. */
	text[0] = '[';
	text[1] = '"';
	memset(text + 2, '{', 60);
	memcpy(text + 62, "\"/*", 3);
	memset(text + 65, '[', 60);
	memcpy(text + 125, "*/]", 3);
	assert_int_equal(json_doc_load(&doc, "f", text, 128, &err), 0);
	json_doc_done(&doc);
}

static void test_size(void **state)
{
	size_t limit = 1024 * 1024;
	char *text = malloc(limit + 1);
	struct json_doc doc;
	struct brig_error err;

	(void)state;
	assert_non_null(text);
	memset(text, ' ', limit + 1);
	memcpy(text, "{}", 2);
	assert_int_equal(json_doc_load(&doc, "f", text, limit, &err), 0);
	json_doc_done(&doc);
	assert_int_equal(json_doc_load(&doc, "f", text, limit + 1, &err), -EINVAL);
	assert_string_equal(err.message, "f:1:1: 1048577 bytes, over the limit of 1M");
	/* Nothing but brackets, up to the maximum size: refused at once, without deep recursion. */
	memset(text, '[', limit);
	assert_int_equal(json_doc_load(&doc, "f", text, limit, &err), -EINVAL);
	free(text);
}

static const char located[] = "{\n"
			      "  \"limits\": {\"memory\": \"1M\", \"wall\": {\"x\": 1}},\n"
			      "  \"mounts\": [\n"
			      "    {\"name\": \"a\", \"mode\": \"ro\"},\n"
			      "    [10, \"]\", {\"deep\": [ 7 , -1.5e3 ]}],\n"
			      "    {\"mode\": \"limits\"}\n"
			      "  ],\n"
			      "  \"python3.11\": {\"mode\": 1}, \"a.b\": 2,\n"
			      "  \"caf\\u00e9\": {\"\\ud83d\\ude00\": 1, \"q\\\"\\/\\n\": 2},\n"
			      "  \"mode\": \"last\", \"\": {\"e\": 1}\n"
			      "}\n";

static void test_locate(void **state)
{
	static const struct {
		const char *path;
		int line, column;
	} cases[] = {
		{ "limits", 2, 3 },
		{ "limits.memory", 2, 14 },
		{ "limits.wall", 2, 30 },
		{ "limits.wall.x", 2, 39 },
		{ "mounts", 3, 3 },
		{ "mounts[0]", 4, 5 },
		{ "mounts[0].mode", 4, 19 },
		{ "mounts[1]", 5, 5 },
		{ "mounts[1][0]", 5, 6 },
		{ "mounts[1][1]", 5, 10 },
		{ "mounts[1][2].deep", 5, 16 },
		{ "mounts[1][2].deep[0]", 5, 26 },
		{ "mounts[1][2].deep[1]", 5, 30 },
		{ "mounts[2].mode", 6, 6 },
		{ "python3.11", 8, 3 },
		{ "python3.11.mode", 8, 18 },
		{ "a.b", 8, 30 },
		{ "caf\xc3\xa9", 9, 3 },
		{ "caf\xc3\xa9.\xf0\x9f\x98\x80", 9, 17 },
		{ "caf\xc3\xa9.q\"/\n", 9, 36 },
		{ "mode", 10, 3 },
		{ ".e", 10, 24 },
		{ "", 1, 1 },
		/* none of these exists */
		{ "x", 1, 1 },
		{ "limits.", 1, 1 },
		{ "limits.mem", 1, 1 },
		{ "limits.memory.x", 1, 1 },
		{ "mounts[3]", 1, 1 },
		{ "mounts[00]", 1, 1 },
		{ "mounts[", 1, 1 },
		{ "mounts[99999999999999999999999]", 1, 1 },
		{ "[0]", 1, 1 },
		{ "last", 1, 1 },
	};
	struct json_doc doc;
	struct brig_error err;

	(void)state;
	assert_int_equal(json_doc_load(&doc, "f", located, strlen(located), &err), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int line = 0;
		int column = 0;
		json_doc_locate(&doc, cases[i].path, &line, &column);
		if (line != cases[i].line || column != cases[i].column) {
			print_error("%s: %d:%d\n", cases[i].path, line, column);
		}
		assert_int_equal(line, cases[i].line);
		assert_int_equal(column, cases[i].column);
	}
	json_doc_done(&doc);
}

static void test_locate_array(void **state)
{
	struct json_doc doc;
	struct brig_error err;
	int line, column;

	(void)state;
	assert_int_equal(json_doc_load(&doc, "f", "\n [[ ], [true,\n\"x\"]]", 20, &err), 0);
	json_doc_locate(&doc, "", &line, &column);
	assert_int_equal(line, 2);
	assert_int_equal(column, 2);
	json_doc_locate(&doc, "[1][1]", &line, &column);
	assert_int_equal(line, 3);
	assert_int_equal(column, 1);
	json_doc_locate(&doc, "[0][0]", &line, &column);
	assert_int_equal(line * column, 1);
	json_doc_done(&doc);
}

static void test_error(void **state)
{
	struct json_doc doc;
	struct brig_error err;

	(void)state;
	assert_int_equal(json_doc_load(&doc, "p.json", located, strlen(located), &err), 0);
	assert_int_equal(json_doc_error(&doc, "mounts[0].mode", BRIG_E_RUNTIME, &err,
					"\"%s\" is not a mode", "rx"),
			 -EINVAL);
	assert_string_equal(err.message, "p.json:4:19: mounts[0].mode: \"rx\" is not a mode");
	assert_int_equal(err.code, BRIG_E_RUNTIME);
	assert_int_equal(json_doc_error(&doc, NULL, BRIG_E_NONE, &err, "is %s", "empty"), -EINVAL);
	assert_string_equal(err.message, "p.json:1:1: is empty");
	assert_int_equal(err.code, BRIG_E_POLICY);
	assert_int_equal(json_doc_error(&doc, "limits", BRIG_E_POLICY, NULL, "x"), -EINVAL);
	json_doc_done(&doc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_comments),     cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_nul),          cmocka_unit_test(test_depth),
		cmocka_unit_test(test_size),         cmocka_unit_test(test_locate),
		cmocka_unit_test(test_locate_array), cmocka_unit_test(test_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
