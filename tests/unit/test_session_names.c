/* SPDX-License-Identifier: Apache-2.0 */
/* Names of sessions: their owners, and their number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* cmocka needs the headers above first. */
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "tools/tools_internal.h"

static const char id[] = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

static void test_life(void **state)
{
	struct session_names *names = NULL;

	(void)state;
	assert_int_equal(session_names_new(&names), 0);
	assert_null(session_names_find(names, "alice", "x"));
	assert_int_equal(session_names_begin(names, "alice", "x", NULL), 0);
	assert_string_equal(session_names_find(names, "alice", "x"), "");
	session_names_opened(names, "alice", "x", id, 1);
	assert_string_equal(session_names_find(names, "alice", "x"), id);
	assert_null(session_names_find(names, "bob", "x"));
	session_names_forget(names, "bob", "x");
	assert_string_equal(session_names_find(names, "alice", "x"), id);
	session_names_forget(names, "alice", "x");
	assert_null(session_names_find(names, "alice", "x"));
	session_names_opened(names, "alice", "x", id, 1); /* closed meanwhile */
	assert_null(session_names_find(names, "alice", "x"));
	session_names_free(names);
}

static int fill(struct session_names *names, const char *caller)
{
	struct brig_error error = { 0 };
	char name[SESSION_NAME_MAX + 1];
	int count = 0;

	do {
		(void)snprintf(name, sizeof(name), "n%d", count);
	} while (session_names_begin(names, caller, name, &error) == 0 && ++count < 10000);
	assert_int_equal(error.errnum, EAGAIN);
	return count;
}

/* Live sessions are never removed, neither by their own caller nor by others. */
static void test_bounds(void **state)
{
	struct session_names *names = NULL;
	char caller[32];
	int all = 0;

	(void)state;
	assert_int_equal(session_names_new(&names), 0);
	assert_int_equal(fill(names, "greedy"), 64);
	session_names_opened(names, "greedy", "n0", id, 1);
	assert_int_equal(fill(names, "modest"), 64);
	for (int i = 0; i < 100; i++) {
		(void)snprintf(caller, sizeof(caller), "c%d", i);
		all += fill(names, caller);
	}
	assert_int_equal(all, 1024 - 128);
	assert_string_equal(session_names_find(names, "greedy", "n0"), id);
	session_names_forget(names, "greedy", "n1");
	assert_int_equal(session_names_begin(names, "greedy", "again", NULL), 0);
	session_names_free(names);
}

static void test_valid(void **state)
{
	char longest[SESSION_NAME_MAX + 2];

	(void)state;
	memset(longest, 'x', sizeof(longest));
	assert_true(session_name_valid("aZ09_-", 6));
	longest[SESSION_NAME_MAX + 1] = '\0';
	assert_false(session_name_valid(longest, SESSION_NAME_MAX + 1));
	longest[SESSION_NAME_MAX] = '\0';
	assert_true(session_name_valid(longest, SESSION_NAME_MAX));
	assert_false(session_name_valid("", 0));
	assert_false(session_name_valid("a b", 3));
	assert_false(session_name_valid("a\0b", 3));
	assert_false(session_name_valid("a/", 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_life),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_valid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
