/* SPDX-License-Identifier: Apache-2.0 */
/* Where runtimes come from: by name, alias, extension and #! line; the operator's own files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "runtime/runtime.h"

static const char zig[] = "{ \"aliases\": [\"ziggy\"], \"extensions\": [\"zig\", \"py\"],\n"
			  "\"source\": \"code.zig\", \"program\": [\"/nonexistent/zig\"],\n"
			  "\"package\": \"zig\", \"shebangs\": [\"zi\\u0067\"],\n"
			  "\"run\": { \"argv\": [\"{program}\", \"{source}\", \"{args}\"] } }";

struct place {
	char config[64];
	char folder[96];
};

static int setup(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	if (!place) {
		return -1;
	}
	(void)snprintf(place->config, sizeof(place->config), "/tmp/brig-test-XXXXXX");
	if (!mkdtemp(place->config)) {
		free(place);
		return -1;
	}
	(void)snprintf(place->folder, sizeof(place->folder), "%s/runtimes", place->config);
	*state = place;
	return mkdir(place->folder, 0755);
}

static int teardown(void **state)
{
	struct place *place = *state;
	char command[160];
	int r;

	(void)snprintf(command, sizeof(command), "rm -rf '%s'", place->config);
	r = system(command);
	free(place);
	return r;
}

static void write_file(const struct place *place, const char *name, const char *text)
{
	char path[160];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/%s", place->folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, 0644), 0);
}

static void expect_load(const struct runtime_source *source, const char *name, const char *want)
{
	struct brig_error err = { 0 };
	struct runtime *rt = NULL;
	int r = runtime_load(source, name, &rt, &err);

	if (!want) {
		assert_true(r < 0);
		assert_null(rt);
		return;
	}
	if (r < 0) {
		fail_msg("%s: %s", name, err.message);
	}
	assert_string_equal(rt->name, want);
	runtime_free(rt);
}

static void test_names(void **state)
{
	struct runtime_source source = { 0 };
	struct brig_error err = { 0 };
	struct runtime *rt = NULL;

	(void)state;
	expect_load(&source, "python", "python");
	expect_load(&source, "py", "python");
	expect_load(&source, "node", "javascript");
	expect_load(&source, "c++", "cpp");
	expect_load(&source, "sh", "bash");
	expect_load(NULL, "ruby", "ruby");
	assert_int_equal(runtime_load(&source, "../python", &rt, &err), -ENOENT);
	assert_int_equal(runtime_load(&source, "", &rt, &err), -ENOENT);
	assert_int_equal(runtime_load(&source, "cobol", &rt, &err), -ENOENT);
	assert_int_equal(err.code, BRIG_E_RUNTIME);
	assert_non_null(strstr(err.message, "\"cobol\""));
	assert_non_null(strstr(err.remedy, "python"));
	assert_null(strstr(err.remedy, "command")); /* no language: stands for programs */
}

static void test_files(void **state)
{
	static const struct {
		const char *path, *head, *want;
	} files[] = {
		{ "x.py", NULL, "python" },
		{ "dir.d/x.rs", "#!/bin/sh\n", "rust" },
		{ "x.cc", "", "cpp" },
		{ "x.mjs", "", "javascript" },
		{ "script", "#!/usr/bin/python3\n", "python" },
		{ "script", "#! /usr/bin/env python3.12 -u\n", "python" },
		{ "script", "#!/usr/bin/env -S FOO=1 lua5.4\n", "lua" },
		{ "script", "#!/bin/dash", "bash" },
		{ "script.unknown", "#!/usr/bin/perl -w\n", "perl" },
		{ "script", "#!/usr/bin/env\n", NULL },
		{ "script", "#!", NULL },
		{ "script", "print 1", NULL },
		{ "py", NULL, NULL },
		{ "x.", NULL, NULL },
		{ "x.\"py\"", NULL, NULL },
	};
	struct runtime_source source = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		struct brig_error err = { 0 };
		struct runtime *rt = NULL;
		int r = runtime_for_file(&source, files[i].path, files[i].head,
					 files[i].head ? strlen(files[i].head) : 0, &rt, &err);

		if (!files[i].want) {
			assert_int_equal(r, -ENOENT);
			assert_true(err.remedy[0]);
			continue;
		}
		if (r < 0) {
			fail_msg("%s: %s", files[i].path, err.message);
		}
		assert_string_equal(rt->name, files[i].want);
		runtime_free(rt);
	}
}

static void test_operator(void **state)
{
	struct place *place = *state;
	struct runtime_source source = { .config_dir = place->config };
	struct brig_error err = { 0 };
	struct runtime **all = NULL;
	struct runtime *rt = NULL;
	size_t count = 0, built_in = 0;

	assert_int_equal(runtime_load_all(NULL, &all, &built_in, &err), 0);
	for (size_t i = 0; i < built_in; i++) {
		runtime_free(all[i]);
	}
	free(all);
	write_file(place, "zig.json", zig);
	write_file(place, "lua.json", zig);
	write_file(place, "zig.json~", "not json");
	expect_load(&source, "zig", "zig");
	expect_load(&source, "ziggy", "lua"); /* in order of names; the built-in lua is hidden */
	expect_load(&source, "python", "python");
	/* The operator's files come before the built-in ones. */
	assert_int_equal(runtime_for_file(&source, "x.py", NULL, 0, &rt, &err), 0);
	assert_string_equal(rt->name, "lua");
	runtime_free(rt);
	/* A text written with an escape is found too. */
	assert_int_equal(runtime_for_file(&source, "x", "#!zig\n", 6, &rt, &err), 0);
	runtime_free(rt);
	assert_int_equal(runtime_load_all(&source, &all, &count, &err), 0);
	assert_int_equal(count, built_in + 1);
	for (size_t i = 0; i < count; i++) {
		runtime_free(all[i]);
	}
	free(all);
}

static void test_operator_refused(void **state)
{
	struct place *place = *state;
	struct runtime_source source = { .config_dir = place->config };
	struct brig_error err = { 0 };
	struct runtime **all = NULL;
	struct runtime *rt = NULL;
	size_t count = 0;
	char path[160], target[160];

	(void)snprintf(path, sizeof(path), "%s/zig.json", place->folder);
	write_file(place, "zig.json", zig);
	assert_int_equal(chmod(path, 0664), 0);
	assert_int_equal(runtime_load(&source, "zig", &rt, &err), -EPERM);
	assert_non_null(strstr(err.remedy, "chmod"));
	assert_int_equal(runtime_load_all(&source, &all, &count, &err), -EPERM);
	expect_load(&source, "python", "python");

	assert_int_equal(unlink(path), 0);
	(void)snprintf(target, sizeof(target), "%s/real", place->config);
	write_file(place, "../real", zig);
	assert_int_equal(symlink(target, path), 0);
	assert_int_equal(runtime_load(&source, "zig", &rt, &err), -ELOOP);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(runtime_load(&source, "zig", &rt, &err), -EINVAL);
	assert_int_equal(unlink(path), 0);

	write_file(place, "zig.json", "{ \"colour\": 1 }");
	assert_int_equal(runtime_load(&source, "zig", &rt, &err), -EINVAL);
	assert_int_equal(chmod(place->folder, 0777), 0);
	assert_int_equal(runtime_load(&source, "python", &rt, &err), -EPERM);
	source.config_dir = "/nonexistent";
	expect_load(&source, "python", "python");
}

static void test_not_installed(void **state)
{
	struct brig_error err = { 0 };
	struct runtime *rt = NULL;

	(void)state;
	assert_int_equal(runtime_parse("zig", zig, strlen(zig), &rt, &err), 0);
	assert_int_equal(runtime_find(rt, &err), -ENOENT);
	assert_int_equal(err.code, BRIG_E_RUNTIME);
	assert_non_null(strstr(err.message, "/nonexistent/zig"));
	assert_non_null(strstr(err.remedy, "apt install zig"));
	runtime_free(rt);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_files),
		cmocka_unit_test_setup_teardown(test_operator, setup, teardown),
		cmocka_unit_test_setup_teardown(test_operator_refused, setup, teardown),
		cmocka_unit_test(test_not_installed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
