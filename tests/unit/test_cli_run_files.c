/* SPDX-License-Identifier: Apache-2.0 */
/* Returned files are written beneath their directory and nowhere else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/run/run_files.h"

static char top[64];

static char *in_top(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", top, name);
	return path;
}

static int set_up(void **state)
{
	(void)state;
	snprintf(top, sizeof(top), "/tmp/brig-files.XXXXXX");
	return mkdtemp(top) ? mkdir(in_top("o"), 0755) : -1;
}

static int tear_down(void **state)
{
	static const char *const left[] = { "o/sub/deep/f", "o/f",     "o/link",
					    "victim",       "o/x.git", "o/.gitignore" };
	static const char *const dirs[] = { "o/sub/deep", "o/sub", "o", "elsewhere" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(left); i++) {
		unlink(in_top(left[i]));
	}
	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		rmdir(in_top(dirs[i]));
	}
	return rmdir(top);
}

static int put_exec(const char *path, const char *text, bool executable, bool force, bool exec,
		    struct brig_error *err)
{
	struct brig_file_out file = { .path = (char *)(uintptr_t)path,
				      .size = strlen(text),
				      .data = (void *)(uintptr_t)text,
				      .executable = executable };
	struct brig_result result = { .files = &file, .files_count = 1 };
	char dir[128];

	snprintf(dir, sizeof(dir), "%s/o", top);
	struct run_files_options options = { .dir = dir, .force = force, .exec = exec };
	return run_files_write(&result, &options, err);
}

static int put(const char *path, const char *text, bool executable, bool force,
	       struct brig_error *err)
{
	return put_exec(path, text, executable, force, false, err);
}

static void expect_text(const char *name, const char *text)
{
	char got[64] = "";
	_cleanup_close_ int fd = open(in_top(name), O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0 && read(fd, got, sizeof(got) - 1) >= 0);
	assert_string_equal(got, text);
}

static void test_writes(void **state)
{
	struct stat info;

	(void)state;
	assert_int_equal(put("f", "one", false, false, NULL), 0);
	expect_text("o/f", "one");
	assert_int_equal(put("sub/deep/f", "two", true, false, NULL), 0);
	expect_text("o/sub/deep/f", "two");
	assert_int_equal(stat(in_top("o/sub/deep/f"), &info), 0);
	assert_int_equal(info.st_mode & 0111, 0);
	assert_int_equal(put_exec("sub/deep/f", "two", true, true, true, NULL), 0);
	assert_int_equal(stat(in_top("o/sub/deep/f"), &info), 0);
	assert_true(info.st_mode & 0100);
}

/* Not even with --force: git would run a hook at the next commit. */
static void test_git(void **state)
{
	static const char *const bad[] = { ".git/hooks/pre-commit", ".GIT/config", ".git",
					   "sub/.gIt/config", "sub/.git" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(put_exec(bad[i], "evil", true, true, true, NULL), 0);
	}
	assert_int_equal(access(in_top("o/.git"), F_OK), -1);
	assert_int_equal(access(in_top("o/.GIT"), F_OK), -1);
	assert_int_equal(access(in_top("o/sub"), F_OK), -1);
	assert_int_equal(put(".gitignore", "x", false, false, NULL), 0);
	assert_int_equal(put("x.git", "x", false, false, NULL), 0);
	expect_text("o/.gitignore", "x");
	expect_text("o/x.git", "x");
}

static void test_existing(void **state)
{
	struct brig_error err = { 0 };

	(void)state;
	assert_int_equal(put("f", "one", false, false, NULL), 0);
	assert_int_equal(put("f", "two", false, false, &err), -EEXIST);
	assert_non_null(strstr(err.remedy, "--force"));
	expect_text("o/f", "one");
	assert_int_equal(put("f", "two", false, true, NULL), 0);
	expect_text("o/f", "two");
}

static void test_links(void **state)
{
	(void)state;
	FILE *victim = fopen(in_top("victim"), "we");
	fputs("precious", victim);
	fclose(victim);
	assert_int_equal(symlink("../victim", in_top("o/link")), 0);
	assert_int_equal(put("link", "evil", false, false, NULL), -EEXIST);
	expect_text("victim", "precious");
	/* With --force the link itself is replaced. */
	assert_int_equal(put("link", "evil", false, true, NULL), 0);
	expect_text("victim", "precious");
	expect_text("o/link", "evil");
	unlink(in_top("o/link"));
	assert_int_equal(mkdir(in_top("elsewhere"), 0755), 0);
	assert_int_equal(symlink("../elsewhere", in_top("o/link")), 0);
	assert_true(put("link/f", "evil", false, true, NULL) < 0);
	assert_int_equal(access(in_top("elsewhere/f"), F_OK), -1);
}

static void test_names(void **state)
{
	static const char *const bad[] = { "../f", "/tmp/f", "a/../../f", "", ".", "a//b" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(put(bad[i], "evil", false, true, NULL), -EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_writes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_existing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_links, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_git, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_names, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
