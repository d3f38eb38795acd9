/* SPDX-License-Identifier: Apache-2.0 */
/* Options by table: forms, errors, help; and that the table of limits becomes options. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/run/run_options.h"

static struct option_info options[RUN_OPTIONS_MAX];

static struct syntax syntax_of(enum run_command command)
{
	return (struct syntax){ .command = "run",
				.usage = "run FILE\nrun -- CMD",
				.about = "Runs.",
				.options = options,
				.options_count = run_options(command, options),
				.operands_max = 1,
				.rest = true };
}

static int parse(struct run_args *line, struct brig_error *err, int argc, const char *const *words)
{
	struct syntax syntax = syntax_of(RUN_COMMAND_RUN);
	char *argv[16] = { 0 };

	assert_true(argc < 16);
	for (int i = 0; i < argc; i++) {
		argv[i] = (char *)(uintptr_t)words[i];
	}
	/* `rest` points into argv: valid for tests that read it before they return */
	*line = (struct run_args){ 0 };
	return options_parse(&syntax, argc, argv, line, &line->given, err);
}
#define PARSE(line, err, ...)                                                                      \
	parse(line, err, (int)(sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *)),          \
	      (const char *[]){ __VA_ARGS__ })

static void test_forms(void **state)
{
	struct run_args line;

	(void)state;
	assert_int_equal(PARSE(&line, NULL, "run", "--lang", "python", "x.py", "--policy=strict",
			       "--json", "--timeout", "1.5s", "--memory=64M", "--out", "a", "--out",
			       "b"),
			 0);
	assert_string_equal(line.language, "python");
	assert_string_equal(line.policy, "strict");
	assert_true(line.json);
	assert_int_equal(line.limits.wall_ns, 1500000000);
	assert_int_equal(line.limits.memory_bytes, 64 << 20);
	assert_int_equal(line.given.operands_count, 1);
	assert_string_equal(line.given.operands[0], "x.py");
	assert_int_equal(line.out.count, 2);
	assert_null(line.given.rest);
	run_args_done(&line);

	assert_int_equal(PARSE(&line, NULL, "run", "-", "-c", "-1"), 0);
	assert_string_equal(line.given.operands[0], "-");
	assert_string_equal(line.code, "-1");
	assert_int_equal(PARSE(&line, NULL, "run", "--json", "--", "--json", "-x"), 0);
	assert_non_null(line.given.rest);
	assert_int_equal(line.given.operands_count, 0);
	assert_int_equal(PARSE(&line, NULL, "run", "--help", "--nonsense"), 0);
	assert_true(line.given.help);
}

static void test_errors(void **state)
{
	struct run_args line;
	struct brig_error err = { 0 };

	(void)state;
	assert_int_equal(PARSE(&line, &err, "run", "--tiemout", "1"), -EINVAL);
	assert_non_null(strstr(err.message, "--tiemout"));
	assert_non_null(strstr(err.remedy, "--timeout"));
	assert_int_equal(PARSE(&line, &err, "run", "--xyzzyxyzzy"), -EINVAL);
	assert_non_null(strstr(err.remedy, "--help"));
	assert_int_equal(PARSE(&line, &err, "run", "--lang"), -EINVAL);
	assert_non_null(strstr(err.message, "--lang needs a value"));
	assert_int_equal(PARSE(&line, &err, "run", "--lang", "--", "x"), -EINVAL);
	assert_int_equal(PARSE(&line, &err, "run", "--json=yes"), -EINVAL);
	assert_non_null(strstr(err.message, "takes no value"));
	assert_int_equal(PARSE(&line, &err, "run", "a.py", "b"), -EINVAL);
	assert_non_null(strstr(err.remedy, "-- b"));
	assert_int_equal(PARSE(&line, &err, "run", "-x"), -EINVAL);
}

static void test_limit_errors(void **state)
{
	static const char *const bad[] = { "", "-1", "1x", "1 s", "nan", "1e9" };
	/* The policy states the range of these; 0 must not become "as the policy says". */
	static const char *const outside[] = { "0", "0ms", "99999999999999999999h" };
	struct run_args line;
	struct brig_error err = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_true(PARSE(&line, &err, "run", "--timeout", bad[i]) < 0);
		assert_non_null(strstr(err.message, "--timeout"));
		assert_true(err.remedy[0]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(outside); i++) {
		assert_int_equal(PARSE(&line, &err, "run", "--timeout", outside[i]), 0);
		assert_true(line.limits.wall_ns == 1 ||
			    line.limits.wall_ns > UINT64_C(7) * 86400 * 1000000000);
	}
	assert_true(PARSE(&line, &err, "run", "--processes", "0") < 0);
}

/* The prefix of an option is not the option. */
static void test_no_abbreviation(void **state)
{
	struct run_args line;
	struct brig_error err = { 0 };

	(void)state;
	assert_int_equal(PARSE(&line, &err, "run", "--jso"), -EINVAL);
	assert_int_equal(PARSE(&line, &err, "run", "--jsonx"), -EINVAL);
}

static void test_help(void **state)
{
	_cleanup_(buf_done)
	struct buf text = { 0 };
	struct syntax syntax = syntax_of(RUN_COMMAND_EXPLAIN);

	(void)state;
	options_help(&syntax, &text);
	assert_memory_equal(text.data, "usage: brig run FILE\n       brig run -- CMD\n", 43);
	for (size_t i = 0; i < syntax.options_count; i++) {
		assert_non_null(strstr(text.data, syntax.options[i].name));
	}
	assert_null(strstr(text.data, "--json-schema"));
}

static void test_mention(void **state)
{
	char run[] = "run", json[] = "--json", dashes[] = "--";

	(void)state;
	assert_true(options_mention(2, (char *[]){ run, json, NULL }, "--json"));
	assert_false(options_mention(3, (char *[]){ run, dashes, json, NULL }, "--json"));
}

static const struct option_info *row_of(const char *name)
{
	size_t count = run_options(RUN_COMMAND_RUN, options);

	for (size_t i = 0; i < count; i++) {
		if (strcmp(options[i].name, name) == 0) {
			return &options[i];
		}
	}
	return NULL;
}

static void test_words(void **state)
{
	const struct option_info *start = row_of("--start");
	struct run_args line;

	(void)state;
	assert_non_null(start);
	assert_int_equal(start->complete->kind, COMPLETE_WORDS);
	assert_int_equal(start->complete->count, 3);
	/* Each word that a shell offers is one that the option accepts. */
	for (size_t i = 0; i < start->complete->count; i++) {
		const char *word = completion_word(start->complete, i);

		assert_int_equal(PARSE(&line, NULL, "run", "--start", word), 0);
	}
	assert_true(row_of("--in")->repeats);
	assert_false(row_of("--lang")->repeats);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),        cmocka_unit_test(test_errors),
		cmocka_unit_test(test_limit_errors), cmocka_unit_test(test_no_abbreviation),
		cmocka_unit_test(test_help),         cmocka_unit_test(test_mention),
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
