/* SPDX-License-Identifier: Apache-2.0 */
/* Targets: their path and query, and invalid ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "http/message/target.h"

static void test_right(void **state)
{
	static const struct {
		const char *target, *path, *query;
	} cases[] = {
		{ "/", "/", NULL },
		{ "/a/b", "/a/b", NULL },
		{ "/a/", "/a/", NULL },
		{ "/a%20b", "/a b", NULL },
		{ "/caf%C3%a9", "/caf\xc3\xa9", NULL },
		{ "/...", "/...", NULL },
		{ "/.a/..b/c..", "/.a/..b/c..", NULL },
		{ "/a:b@c;d=e,f!$&'()*+~", "/a:b@c;d=e,f!$&'()*+~", NULL },
		{ "/%25%32%65", "/%2e", NULL },
		{ "/a%5cb", "/a\\b", NULL },
		{ "/?", "/", "" },
		{ "/a?b=c&d=%2F../..//", "/a", "b=c&d=%2F../..//" },
		{ "/a?b?c", "/a", "b?c" },
		{ "/a?%ff", "/a", "%ff" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *path = NULL;
		size_t query = 0;
		const char *why = NULL;
		const char *target = cases[i].target;
		assert_int_equal(target_read(target, strlen(target), &path, &query, &why), 0);
		assert_string_equal(path, cases[i].path);
		assert_int_equal(query != 0, cases[i].query != NULL);
		if (cases[i].query) {
			assert_string_equal(target + query, cases[i].query);
		}
	}
}

static void test_wrong(void **state)
{
	static const char *const cases[] = {
		"",           "a",      "*",       "http://a/",   "a:80",
		"//",         "//a",    "/a//b",   "/a//",        "/.",
		"/..",        "/./",    "/a/..",   "/a/../b",     "/%2e",
		"/%2E%2e",    "/.%2e/", "/%",      "/%2",         "/%2g",
		"/%g2",       "/a%00",  "/a%0a",   "/a%1f",       "/a%7F",
		"/a%2fb",     "/a%2Fb", "/%c0%af", "/%ff",        "/%c3",
		"/%c2%85",    "/a b",   "/a\"",    "/a<b>",       "/a\\b",
		"/a^b",       "/a`b",   "/a|b",    "/{a}",        "/a#b",
		"/\xc3\xa9",  "/a\tb",  "/a?b c",  "/a?%",        "/a?%0",
		"/a?%00",     "/a?b#c", "/a?\"",   "/a?\xc3\xa9", "/a?[b]",
		"/%ed%a0%80",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char *path = NULL;
		size_t query = 77;
		const char *why = NULL;
		assert_int_equal(target_read(cases[i], strlen(cases[i]), &path, &query, &why), 400);
		assert_null(path);
		assert_int_equal(query, 77);
		assert_non_null(why);
	}
}

static void test_long(void **state)
{
	char target[TARGET_MAX + 2];
	char *path = NULL;
	size_t query = 0;
	const char *why = NULL;

	(void)state;
	memset(target, 'a', sizeof(target));
	target[0] = '/';
	assert_int_equal(target_read(target, TARGET_MAX, &path, &query, &why), 0);
	free(path);
	assert_int_equal(target_read(target, TARGET_MAX + 1, &path, &query, &why), 414);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_right),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
