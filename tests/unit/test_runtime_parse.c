/* SPDX-License-Identifier: Apache-2.0 */
/* Runtime files: accepted ones, and refused ones with the position of the error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/embedded.h"
#include "runtime/runtime.h"

#define LEAST                                                                                      \
	"\"source\": \"code.x\", \"program\": [\"/usr/bin/x\"],"                                   \
	"\"run\": { \"argv\": [\"{program}\", \"{source}\", \"{args}\"] }"

static void test_whole(void **state)
{
	static const char text[] = "{ // comment\n" LEAST ",\n"
				   "\"aliases\": [\"xx\", \"c++\"], \"extensions\": [\"x\"],\n"
				   "\"shebangs\": [\"x\"], \"package\": \"x-lang\",\n"
				   "\"version\": { \"argv\": [\"-V\"], \"after\": \"v\" },\n"
				   "\"compile\": { \"argv\": [\"{program}\", \"{source}\"],\n"
				   "  \"output\": \"program\", \"env\": { \"A\": \"b=c\" },\n"
				   "  \"closure\": [\"@cc\"],\n"
				   "  \"limits\": { \"memory\": \"2G\", \"wall\": \"90s\" } },\n"
				   "\"closure\": [\"@libs\", \"/usr/lib/{multiarch}/x*\"],\n"
				   "\"least\": { \"memory\": \"16M\", \"processes\": 3 } }";
	struct brig_error err = { 0 };
	struct runtime *rt = NULL;

	(void)state;
	assert_int_equal(runtime_parse("x", text, strlen(text), &rt, &err), 0);
	assert_string_equal(rt->name, "x");
	assert_string_equal(rt->source, "code.x");
	assert_true(strlist_has(&rt->aliases, "c++"));
	assert_string_equal(rt->compile_env.items[0], "A=b=c");
	assert_string_equal(rt->output, "program");
	assert_true(rt->compile_limits.memory_bytes == UINT64_C(2) << 30);
	assert_true(rt->compile_limits.wall_ns == UINT64_C(90000000000));
	assert_true(rt->compile_limits.cpu_ns == 0);
	assert_true(rt->least_memory_bytes == 16 << 20 && rt->least_processes == 3);
	assert_string_equal(rt->version_pattern, "v");
	assert_string_equal(rt->package_hint, "x-lang");
	assert_null(rt->program);
	runtime_free(rt);
	runtime_free(NULL);
}

static void test_refused(void **state)
{
	static const struct {
		const char *text, *message;
	} wrong[] = {
		{ "{", "runtimes/x.json:1:" },
		{ "[]", "must be an object" },
		{ "{ " LEAST ",\n \"colour\": 1 }", "runtimes/x.json:2:2: colour: unknown key" },
		{ "{ " LEAST ",\n \"version\": {\n  \"argc\": [] } }",
		  "runtimes/x.json:3:3: version.argc: unknown key" },
		{ "{ " LEAST ", \"source\": \"y\" }", "runtimes/x.json:1:" },
		{ "{ \"source\": \"code.x\" }", "program: is missing" },
		{ "{ " LEAST ", \"generic\": true }", "generic: a generic runtime has no program" },
		{ "{ " LEAST ", \"generic\": 1 }", "must be true or false" },
		{ "{ " LEAST ", \"aliases\": \"x\" }", "must be a list" },
		{ "{ " LEAST ", \"aliases\": [\"x\", 1] }", "aliases[1]: must be a text" },
		{ "{ " LEAST ", \"aliases\": [\"a/b\"] }", "aliases[0]: \"a/b\" must be" },
		{ "{ " LEAST ", \"aliases\": [\"a\\u0000b\"] }", "" },
		{ "{ " LEAST ", \"compile\": { \"argv\": [\"x\"] } }",
		  "compile.output: is missing" },
		{ "{ " LEAST ", \"compile\": { \"output\": \"../x\" } }",
		  "compile.output: \"../x\"" },
		{ "{ " LEAST ", \"compile\": { \"output\": \"x\" } }", "compile.argv: is missing" },
		{ "{ " LEAST ", \"compile\": { \"argv\": [\"{realname}\"] } }",
		  "no placeholders but" },
		{ "{ " LEAST ", \"compile\": { \"argv\": [\"-x{args}\"] } }", "{args} as a whole" },
		{ "{ " LEAST ", \"compile\": { \"env\": { \"1A\": \"x\" } } }",
		  "not a valid variable name" },
		{ "{ " LEAST ", \"compile\": { \"limits\": { \"memory\": \"lots\" } } }",
		  "compile.limits.memory: must be a" },
		{ "{ " LEAST ", \"least\": { \"processes\": -1 } }", "least.processes: must be" },
		{ "{ " LEAST ", \"closure\": [\"@libs\", \"@all\"] }",
		  "closure[1]: \"@all\" must be" },
		{ "{ " LEAST ", \"closure\": [\"usr/lib\"] }", "must be an absolute path" },
		{ "{ " LEAST ", \"closure\": [\"/usr/../etc\"] }", "must be an absolute path" },
		{ "{ " LEAST ", \"closure\": [\"{prefix}/../etc\"] }", "after {prefix}" },
		{ "{ " LEAST ", \"closure\": [\"{source}\"] }", "no placeholders but" },
		{ "{ " LEAST ", \"closure\": [\"/\"] }", "must be an absolute path" },
		{ "{ " LEAST ", \"closure\": [\"/etc\"] }", "must not be such a large" },
		{ "{ " LEAST ", \"closure\": [\"/home\"] }", "must not be such a large" },
		{ "{ " LEAST ", \"closure\": [\"/etc/shadow\"] }", "must not be such a large" },
		{ "{ " LEAST ", \"closure\": [\"/proc/self\"] }", "must not be such a large" },
		{ "{ " LEAST ", \"named_by\": { \"types\": [\"class\"] } }", "named_by.fallback" },
		{ "{ \"source\": \"a\", \"program\": [\"/x\"], \"run\": { \"argv\": [\"x\"] } }",
		  "run.argv: has no {args}" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct brig_error err = { 0 };
		struct runtime *rt = NULL;

		assert_int_equal(
			runtime_parse("x", wrong[i].text, strlen(wrong[i].text), &rt, &err),
			-EINVAL);
		assert_null(rt);
		assert_int_equal(err.code, BRIG_E_RUNTIME);
		if (!strstr(err.message, wrong[i].message)) {
			fail_msg("%s\nsays: %s", wrong[i].text, err.message);
		}
	}
}

static void test_remedy_lists_keys(void **state)
{
	static const char text[] = "{ " LEAST ", \"run2\": {} }";
	struct brig_error err = { 0 };
	struct runtime *rt = NULL;

	(void)state;
	assert_int_equal(runtime_parse("x", text, strlen(text), &rt, &err), -EINVAL);
	assert_non_null(strstr(err.remedy, "aliases, extensions"));
	assert_int_equal(runtime_parse("../x", text, strlen(text), &rt, &err), -EINVAL);
	assert_int_equal(runtime_parse("x", text, strlen(text), &rt, NULL), -EINVAL);
}

/* Every built-in file has the required fields. */
static void test_built_in(void **state)
{
	static const char *const names[] = {
		"python", "javascript", "bash", "c",    "cpp", "go",      "rust",
		"java",   "perl",       "lua",  "ruby", "php", "command",
	};
	struct runtime_source source = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct brig_error err = { 0 };
		struct runtime *rt = NULL;

		if (runtime_load(&source, names[i], &rt, &err) < 0) {
			fail_msg("%s: %s", names[i], err.message);
		}
		assert_true(rt->closure.count > 0);
		assert_true(rt->generic == (strcmp(names[i], "command") == 0));
		assert_true(rt->generic || (rt->package_hint && rt->version_argv.count &&
					    rt->extensions.count && rt->least_memory_bytes));
		assert_true(!rt->compile.count || rt->compile_limits.memory_bytes);
		runtime_free(rt);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_remedy_lists_keys),
		cmocka_unit_test(test_built_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
