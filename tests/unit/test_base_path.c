/* SPDX-License-Identifier: Apache-2.0 */
/* Paths that stay beneath a directory, and globs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/files/path.h"

static void test_beneath(void **state)
{
	static const char *const right[] = {
		"a",   "a/b",           "out/plot.png", "...",  "..a", "a..",      ".hidden",
		"a b", "caf\xc3\xa9/x", "-rf",          "a\\b", "*",   "\xc2\xa0",
	};
	static const struct {
		const char *path, *why;
	} wrong[] = {
		{ "", "it is empty" },
		{ NULL, "it is empty" },
		{ "/", "it is absolute" },
		{ "/etc/passwd", "it is absolute" },
		{ ".", "it has a part \".\" or \"..\"" },
		{ "..", "it has a part \".\" or \"..\"" },
		{ "a/../b", "it has a part \".\" or \"..\"" },
		{ "a/.", "it has a part \".\" or \"..\"" },
		{ "../a", "it has a part \".\" or \"..\"" },
		{ "a/", "it has an empty part" },
		{ "a//b", "it has an empty part" },
		{ "a\nb", "it has a control character" },
		{ "a\x7f", "it has a control character" },
		{ "a\xc2\x9b"
		  "b",
		  "it has a control character" },
		{ "a\xff", "it is not valid UTF-8" },
		{ "\xc0\xaf", "it is not valid UTF-8" },
		{ "a/\xe0\x80\xaf", "it is not valid UTF-8" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(right); i++) {
		const char *why = "untouched";
		assert_true(path_is_beneath(right[i], &why));
		assert_string_equal(why, "untouched");
	}
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		const char *why = NULL;
		assert_false(path_is_beneath(wrong[i].path, &why));
		assert_string_equal(why, wrong[i].why);
		assert_false(path_is_beneath(wrong[i].path, NULL));
	}
}

static void test_beneath_limits(void **state)
{
	char path[2000];
	const char *why;

	(void)state;
	memset(path, 'a', 256);
	path[255] = '\0';
	assert_true(path_is_beneath(path, NULL));
	path[255] = 'a';
	path[256] = '\0';
	assert_false(path_is_beneath(path, &why));
	assert_string_equal(why, "a part of it is longer than 255 bytes");

	for (size_t i = 0; i < 66; i++) {
		path[i] = i % 2 ? '/' : 'a';
	}
	path[63] = '\0';
	assert_true(path_is_beneath(path, NULL));
	path[63] = '/';
	path[65] = '\0';
	assert_false(path_is_beneath(path, &why));
	assert_string_equal(why, "it has more than 32 parts");

	memset(path, 'a', sizeof(path));
	for (size_t i = 200; i < sizeof(path); i += 200) {
		path[i] = '/';
	}
	path[1023] = '\0';
	assert_true(path_is_beneath(path, NULL));
	path[1023] = 'a';
	path[1024] = '\0';
	assert_false(path_is_beneath(path, &why));
	assert_string_equal(why, "it is longer than 1023 bytes");
}

struct glob_case {
	const char *pattern, *path;
	bool match;
};

static const struct glob_case glob_cases[] = {
	{ "", "", true },
	{ "", "a", false },
	{ "a", "a", true },
	{ "a", "", false },
	{ "a", "ab", false },
	{ "ab", "a", false },
	{ "*", "", true },
	{ "*", "abc", true },
	{ "*", "a/b", false },
	{ "*.png", "plot.png", true },
	{ "*.png", "out/plot.png", false },
	{ "out/*", "out/x", true },
	{ "out/*", "out/x/y", false },
	{ "*/*", "a/b", true },
	{ "*/*", "a", false },
	{ "a*b*c", "aXbYbZc", true },
	{ "a*b*c", "aXbYbZ", false },
	{ "?", "a", true },
	{ "?", "", false },
	{ "?", "/", false },
	{ "?", "ab", false },
	{ "?", "\xc3\xa9", true },
	{ "??", "\xc3\xa9", false },
	{ "*??", "\xc3\xa9", false },
	{ "??", "\xc3\xa9\xe2\x82\xac", true },
	{ "?x", "\xf0\x9f\x98\x80x", true },
	{ "?*", "\xf0\x9f\x98\x80x", true },
	{ "caf\xc3\xa9", "caf\xc3\xa9", true },
	{ "**", "", true },
	{ "**", "a/b/c", true },
	{ "out/**", "out/a/b", true },
	{ "out/**", "out/", true },
	{ "out/**", "out", false },
	{ "**/x", "x", true },
	{ "**/x", "a/x", true },
	{ "**/x", "a/b/x", true },
	{ "**/x", "ax", false },
	{ "**/x", "a/bx", false },
	{ "a/**/x", "a/x", true },
	{ "a/**/x", "a/b/c/x", true },
	{ "a/**/x", "ax", false },
	{ "a/**/x", "a/bx", false },
	{ "**/**/x", "x", true },
	{ "**/**/x", "a/x", true },
	{ "**/**", "a", true },
	{ "**/*.py", "m.py", true },
	{ "**/*.py", "p/q/m.py", true },
	{ "**/*/x", "x", false },
	{ "**/*/x", "a/x", true },
	{ "a**b", "a/x/b", true },
	{ "a**/b", "a/b", true },
	{ "a**/b", "ab", false },
	{ "***", "a/b", true },
	{ "[a]", "[a]", true },
	{ "[a]", "a", false },
	{ "\\*", "\\x", true },
	/* hidden names must be spelled out */
	{ "*", ".hidden", false },
	{ "?", ".", false },
	{ "?hidden", ".hidden", false },
	{ "*hidden", ".hidden", false },
	{ "*.txt", ".txt", false },
	{ "**", ".git/hooks/pre-commit", false },
	{ "**", "a/.git/hooks/pre-commit", false },
	{ "**/pre-commit", ".git/hooks/pre-commit", false },
	{ "**/hooks/*", "a/.git/hooks/pre-commit", false },
	{ "**/config", "a/b/.c/config", false },
	{ "a**", "a/.b", false },
	{ "**.b", "a/.b", false },
	{ "a/*", "a/.b", false },
	{ "*/x", ".a/x", false },
	{ "**/*", ".a", false },
	{ ".*", ".hidden", true },
	{ ".?", ".h", true },
	{ ".hidden", ".hidden", true },
	{ "a/.*", "a/.b", true },
	{ "**/.b", ".b", true },
	{ "**/.b", "a/c/.b", true },
	{ "**/.b", ".a/.b", false },
	{ "a**/.b", "a/.b", true },
	{ ".a/**", ".a/b/c", true },
	{ ".a/**", ".a/.b/c", false },
	{ "*", "a.b", true },
	{ "**", "a./b.c/d", true },
	{ "a?b", "a.b", true },
	{ "*.txt", "a.txt", true },
};

static void test_glob(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(glob_cases); i++) {
		const struct glob_case *c = &glob_cases[i];
		if (path_glob(c->pattern, c->path) != c->match) {
			fail_msg("'%s' on '%s' should be %d", c->pattern, c->path, c->match);
		}
	}
}

/* Patterns that span several words of states. */
static void test_glob_long(void **state)
{
	char pattern[1100];
	char path[1100];

	(void)state;
	for (size_t size = 1; size <= 1023; size++) {
		memset(pattern, size % 3 ? 'a' : '?', size);
		memset(path, 'a', size);
		pattern[size] = '\0';
		path[size] = '\0';
		assert_true(path_glob(pattern, path));
		pattern[size / 2] = '*';
		assert_true(path_glob(pattern, path));
		assert_true(path_glob(pattern, path + 1)); /* the star matches nothing */
		path[size - 1] = '/';
		assert_false(path_glob(pattern, path));
	}
	memset(pattern, '*', 1024);
	pattern[1024] = '\0';
	assert_false(path_glob(pattern, "a"));
	pattern[1023] = '\0';
	assert_true(path_glob(pattern, "a"));
}

/* A pattern for which a backtracking matcher would practically never end. */
static void test_glob_linear(void **state)
{
	char pattern[1024];
	char path[1024];

	(void)state;
	for (size_t i = 0; i < 1022; i += 2) {
		memcpy(pattern + i, "*a", 2);
	}
	memcpy(pattern + 1000, "b", 2);
	memset(path, 'a', 1023);
	path[1023] = '\0';
	uint64_t start = clock_now_ns();
	for (int i = 0; i < 100; i++) {
		assert_false(path_glob(pattern, path));
	}
	for (size_t i = 0; i < 1000; i += 5) {
		memcpy(pattern + i, "**a*a", 5);
	}
	for (int i = 0; i < 100; i++) {
		assert_false(path_glob(pattern, path));
	}
	assert_true(clock_now_ns() - start < UINT64_C(5000000000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_beneath),     cmocka_unit_test(test_beneath_limits),
		cmocka_unit_test(test_glob),        cmocka_unit_test(test_glob_long),
		cmocka_unit_test(test_glob_linear),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
