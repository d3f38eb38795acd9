/* SPDX-License-Identifier: Apache-2.0 */
/* From the arguments of a command line to a request. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/run/run_options.h"

static void test_names(void **state)
{
	struct run_args args = { .code = "x" };
	struct run_request request;

	(void)state;
	strlist_add(&args.in, "dir/data.csv");
	strlist_add(&args.in, "sub/in.txt=/etc/hosts");
	strlist_add(&args.in, "./a=b");
	strlist_add(&args.ro, "data=/srv/data");
	strlist_add(&args.rw, "/srv/other");
	assert_int_equal(run_request_make(&args, &request, NULL), 0);
	assert_int_equal(request.request.files_count, 3);
	assert_string_equal(request.files[0].name, "data.csv");
	assert_string_equal(request.files[0].path, "dir/data.csv");
	assert_string_equal(request.files[1].name, "sub/in.txt");
	assert_string_equal(request.files[1].path, "/etc/hosts");
	assert_string_equal(request.files[2].name, "a=b");
	assert_string_equal(request.files[2].path, "./a=b");
	assert_int_equal(request.request.mounts_count, 2);
	assert_string_equal(request.mounts[0].name, "data");
	assert_false(request.mounts[0].writable);
	assert_null(request.mounts[1].name);
	assert_true(request.mounts[1].writable);
	run_request_done(&request);
	run_args_done(&args);
}

static void test_env(void **state)
{
	struct run_args args = { .code = "x" };
	struct run_request request;
	struct brig_error err = { 0 };

	(void)state;
	setenv("BRIG_TEST_VALUE", "from outside", 1);
	unsetenv("BRIG_TEST_NONE");
	strlist_add(&args.env, "A=b=c");
	strlist_add(&args.env, "BRIG_TEST_VALUE");
	assert_int_equal(run_request_make(&args, &request, NULL), 0);
	assert_string_equal(request.request.env[0], "A=b=c");
	assert_string_equal(request.request.env[1], "BRIG_TEST_VALUE=from outside");
	assert_null(request.request.env[2]);
	run_request_done(&request);
	strlist_add(&args.env, "BRIG_TEST_NONE");
	assert_int_equal(run_request_make(&args, &request, &err), -EINVAL);
	assert_non_null(strstr(err.message, "BRIG_TEST_NONE"));
	run_args_done(&args);
}

static void test_source(void **state)
{
	char word[] = "prog", other[] = "arg";
	char *rest[] = { word, other, NULL }, *none[] = { NULL };
	struct run_args args = { .given = { .rest = rest } };
	struct run_request request;
	struct brig_error err = { 0 };

	(void)state;
	assert_int_equal(run_request_make(&args, &request, NULL), 0);
	assert_string_equal(request.request.command[1], "arg");
	assert_null(request.request.args);
	assert_true(run_args_feeds(&args));
	run_request_done(&request);

	args.code = "x";
	assert_int_equal(run_request_make(&args, &request, NULL), 0);
	assert_null(request.request.command);
	assert_string_equal(request.request.args[0], "prog");
	run_request_done(&request);

	args.given.operands[0] = "x.py";
	args.given.operands_count = 1;
	assert_int_equal(run_request_make(&args, &request, &err), -EINVAL);
	args = (struct run_args){ .given = { .rest = none } };
	assert_int_equal(run_request_make(&args, &request, &err), -EINVAL);
	assert_string_equal(err.message, "missing code or command");
	args = (struct run_args){ .code = "" };
	assert_int_equal(run_request_make(&args, &request, &err), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_env),
		cmocka_unit_test(test_source),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
