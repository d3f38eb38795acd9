/* SPDX-License-Identifier: Apache-2.0 */
/* The validator: each keyword, and that errors name the refused part. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "mcp/mcp_schema.h"

#define PERSON                                                                                     \
	"{\"type\":\"object\",\"required\":[\"name\"],\"additionalProperties\":false,"             \
	"\"properties\":{\"name\":{\"type\":\"string\",\"minLength\":2,\"maxLength\":3},"          \
	"\"age\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":150},"                            \
	"\"mood\":{\"enum\":[\"good\",1,null]},\"kind\":{\"const\":\"x\"},"                        \
	"\"score\":{\"type\":[\"number\",\"null\"]},\"ok\":{\"type\":\"boolean\"},"                \
	"\"tags\":{\"type\":\"array\",\"minItems\":1,\"maxItems\":2,"                              \
	"\"items\":{\"type\":\"string\"}},"                                                        \
	"\"home\":{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\"}},"           \
	"\"additionalProperties\":{\"type\":\"integer\"}}}}"

static const struct {
	const char *value;
	const char *why; /* NULL: it is valid */
} cases[] = {
	{ "{\"name\":\"Ada\"}", NULL },
	{ "{\"name\":\"\xc3\xa9\xc3\xa9\xc3\xa9\",\"age\":0,\"mood\":null,\"score\":null}", NULL },
	{ "{\"name\":\"Ada\",\"age\":3.0,\"score\":1,\"ok\":false,\"tags\":[\"a\"]}", NULL },
	{ "{\"name\":\"Ada\",\"home\":{\"city\":\"x\",\"other\":5},\"kind\":\"x\"}", NULL },
	{ "{}", "the arguments lack \"name\", which is required" },
	{ "[]", "the arguments must be an object" },
	{ "{\"name\":5}", "argument \"name\" must be a string" },
	{ "{\"name\":\"A\"}", "argument \"name\" must have at least 2 characters" },
	{ "{\"name\":\"Adam\"}", "argument \"name\" must have at most 3 characters" },
	{ "{\"name\":\"Ada\",\"x\":1}",
	  "the arguments must not have \"x\": there is no such argument" },
	{ "{\"name\":\"Ada\",\"age\":1.5}", "argument \"age\" must be an integer" },
	{ "{\"name\":\"Ada\",\"age\":-1}", "argument \"age\" must be at least 0" },
	{ "{\"name\":\"Ada\",\"age\":151}", "argument \"age\" must be at most 150" },
	{ "{\"name\":\"Ada\",\"age\":1e300}", "argument \"age\" must be an integer" },
	{ "{\"name\":\"Ada\",\"mood\":\"bad\"}",
	  "argument \"mood\" must be one of [\"good\",1,null]" },
	{ "{\"name\":\"Ada\",\"kind\":\"y\"}", "argument \"kind\" must be \"x\"" },
	{ "{\"name\":\"Ada\",\"score\":\"1\"}",
	  "argument \"score\" must be one of the types [\"number\",\"null\"]" },
	{ "{\"name\":\"Ada\",\"ok\":0}", "argument \"ok\" must be a boolean" },
	{ "{\"name\":\"Ada\",\"tags\":[]}", "argument \"tags\" must have at least 1 items" },
	{ "{\"name\":\"Ada\",\"tags\":[\"a\",2]}", "argument \"tags[1]\" must be a string" },
	{ "{\"name\":\"Ada\",\"home\":{\"city\":1}}", "argument \"home.city\" must be a string" },
	{ "{\"name\":\"Ada\",\"home\":{\"z\":\"1\"}}", "argument \"home.z\" must be an integer" },
};

static void test_cases(void **state)
{
	json_t *schema = json_loads(PERSON, 0, NULL);

	(void)state;
	assert_non_null(schema);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf why = { 0 };
		json_t *value = json_loads(cases[i].value, 0, NULL);
		assert_non_null(value);
		assert_int_equal(mcp_schema_check(schema, value, &why), !cases[i].why);
		if (cases[i].why) {
			assert_string_equal(why.data, cases[i].why);
		}
		json_decref(value);
		buf_done(&why);
	}
	json_decref(schema);
}

/* Names come from the client: long ones are cut, and nothing overflows. */
static void test_long_names(void **state)
{
	char name[5000];
	struct buf why = { 0 };
	json_t *schema = json_loads("{\"additionalProperties\":{\"type\":\"integer\"}}", 0, NULL);
	json_t *value = json_object();

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	json_object_set_new(value, name, json_string("x"));
	assert_false(mcp_schema_check(schema, value, &why));
	assert_true(why.size < 1000);
	buf_done(&why);
	json_decref(value);
	json_decref(schema);
}

/* A value that is deeper than the schema costs nothing. */
static void test_other_keywords(void **state)
{
	struct buf why = { 0 };
	json_t *schema =
		json_loads("{\"type\":\"object\",\"$ref\":\"#/x\",\"allOf\":[false]}", 0, NULL);
	json_t *value = json_loads("{\"a\":[[[[{\"b\":1}]]]]}", 0, NULL);

	(void)state;
	assert_true(mcp_schema_check(schema, value, &why));
	assert_int_equal(why.size, 0);
	json_decref(value);
	json_decref(schema);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_other_keywords),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
