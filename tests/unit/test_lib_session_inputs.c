/* SPDX-License-Identifier: Apache-2.0 */
/* Input files of runs in sessions: bounded as those of other runs, and written slice by slice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <brig/brig.h>

#include "base/cleanup.h"

#define MANY  256 /* the maximum of the default policy */
#define LEFT  "import os; sorted(os.listdir('.')), [n for _, _, n in os.walk('a') if n]"
#define LARGE ((size_t)32 << 20) /* more than any machine writes in a slice */

struct fixture {
	struct brig_context *context;
	struct brig_session *session;
	char *data; /* LARGE bytes */
	char names[MANY + 1][80];
	struct brig_file_in files[MANY + 1];
};

static struct brig_request request_of(const struct fixture *f, const char *code, size_t count)
{
	return (struct brig_request){ .size = sizeof(struct brig_request),
				      .code = code,
				      .want_value = true,
				      .files = f->files,
				      .files_count = count };
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct brig_context_options options = { .size = sizeof(options), .no_cache = true };
	struct brig_request request = { .size = sizeof(request), .language = "python" };
	struct brig_error error = { 0 };

	if (brig_context_new(&options, &f->context, &error) < 0 ||
	    brig_session_open(f->context, &request, &f->session, &error) < 0) {
		fail_msg("%s", error.message);
	}
	f->data = calloc(1, LARGE);
	for (size_t i = 0; i <= MANY; i++) {
		for (size_t j = 0; j < 30; j++) {
			strcpy(f->names[i] + 2 * j, "a/");
		}
		snprintf(f->names[i] + 60, 20, "f%zu", i);
		f->files[i] = (struct brig_file_in){ .name = f->names[i], .data = "x", .size = 1 };
	}
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	brig_session_close(f->session);
	brig_context_free(f->context);
	free(f->data);
	free(f);
	return 0;
}

static struct brig_run *start(struct fixture *f, const struct brig_request *request)
{
	struct brig_error error = { 0 };
	struct brig_run *run = NULL;

	if (brig_session_start(f->session, request, &run, &error) < 0) {
		fail_msg("%s", error.message);
	}
	return run;
}

static void expect_refused(struct fixture *f, const struct brig_request *request, int errnum,
			   const char *text)
{
	struct brig_error error = { 0 };
	struct brig_run *run = NULL;

	assert_int_equal(brig_session_start(f->session, request, &run, &error), -errnum);
	assert_non_null(strstr(error.message, text));
}

static void expect_result(struct fixture *f, struct brig_run *run, const char *value)
{
	struct brig_error error = { 0 };

	if (brig_run_wait(run, &error) < 0) {
		fail_msg("%s", error.message);
	}
	struct brig_result *result = brig_run_take_result(run);
	brig_run_free(run);
	assert_int_equal(result->status, BRIG_OK);
	assert_string_equal(result->value_json, value);
	brig_result_free(result);
	assert_int_equal(brig_session_state(f->session), BRIG_SESSION_IDLE);
}

static void expect_alive(struct fixture *f)
{
	struct brig_request request = request_of(f, "6 * 7", 0);

	expect_result(f, start(f, &request), "42");
}

/* One large file in progress: begun, and not yet complete. */
static struct brig_run *start_large(struct fixture *f, const char *code)
{
	struct brig_request request = request_of(f, code, 1);
	struct brig_error error = { 0 };

	expect_alive(f); /* it is open */
	f->files[0].data = f->data;
	f->files[0].size = LARGE;
	struct brig_run *run = start(f, &request);
	assert_int_equal(brig_run_step(run, &error), 0);
	assert_int_equal(brig_session_state(f->session), BRIG_SESSION_IDLE);
	expect_refused(f, &request, EBUSY, "under way");
	return run;
}

static void test_as_many_as_the_policy_says(void **state)
{
	struct fixture *f = *state;
	const char *count = "import os; sum(len(files) for _, _, files in os.walk('a'))";
	struct brig_request request = request_of(f, count, MANY + 1);

	expect_refused(f, &request, E2BIG, "more than 256 input files");
	request.files_count = MANY;
	expect_result(f, start(f, &request), "256");
}

static void test_as_large_as_the_policy_says(void **state)
{
	struct fixture *f = *state;
	struct brig_request request = request_of(f, "1", 3);

	for (int i = 0; i < 3; i++) {
		f->files[i].data = f->data;
		f->files[i].size = LARGE;
	}
	expect_refused(f, &request, EFBIG, "the input files have more than 64M");
	expect_alive(f);
}

static void test_names(void **state)
{
	struct fixture *f = *state;
	struct brig_request request = request_of(f, "1", 1);

	f->files[0].name = "../x";
	expect_refused(f, &request, EINVAL, "file name ../x is refused");
	f->files[0].name = NULL;
	expect_refused(f, &request, EINVAL, "is refused");
	f->files[0] = (struct brig_file_in){ .name = "x", .path = "/etc/hostname" };
	expect_refused(f, &request, EINVAL, "by content");
	expect_alive(f);
}

static void test_large_files_come_in_slices(void **state)
{
	struct fixture *f = *state;

	f->files[0].name = "large";
	expect_result(f, start_large(f, "import os; os.stat('large').st_size"), "33554432");
}

/* The run never begins: its code would miss its files. */
static void test_cancelled_meanwhile(void **state)
{
	struct fixture *f = *state;
	struct brig_error error = { 0 };

	for (int i = 0; i < 2; i++) {
		struct brig_run *run = start_large(f, "open('ran', 'w')");

		if (i == 0) {
			brig_run_cancel(run);
		} else {
			assert_int_equal(brig_session_interrupt(f->session), 0);
		}
		assert_int_equal(brig_run_wait(run, &error), 0);
		struct brig_result *result = brig_run_take_result(run);
		assert_int_equal(result->status, BRIG_CANCELLED);
		brig_result_free(result);
		brig_run_free(run);
	}
	struct brig_request request = request_of(f, LEFT, 0);
	expect_result(f, start(f, &request), "[[\"a\",\"out\"],[]]");
}

static void test_freed_meanwhile(void **state)
{
	struct fixture *f = *state;

	brig_run_free(start_large(f, "1"));
	expect_alive(f);
}

static void test_the_session_ends_meanwhile(void **state)
{
	struct fixture *f = *state;
	struct brig_error error = { 0 };
	struct brig_run *run = start_large(f, "open('ran', 'w')");

	brig_session_end(f->session, "it was enough");
	assert_int_equal(brig_run_wait(run, &error), 0);
	struct brig_result *result = brig_run_take_result(run);
	assert_int_equal(result->status, BRIG_CANCELLED);
	brig_result_free(result);
	brig_run_free(run);
}

static void test_what_cannot_be_written(void **state)
{
	struct fixture *f = *state;
	struct brig_request request = request_of(f, "import os; os.symlink('/tmp', 'a')", 0);
	struct brig_error error = { 0 };

	struct brig_run *run = start(f, &request);
	assert_int_equal(brig_run_wait(run, &error), 0);
	brig_run_free(run);
	request = request_of(f, "open('ran', 'w')", 1);
	run = start(f, &request);
	assert_true(brig_run_wait(run, &error) < 0);
	assert_non_null(strstr(error.message, "cannot write a/a/"));
	brig_run_free(run);
	request = request_of(f, "sorted(os.listdir('.'))", 0);
	expect_result(f, start(f, &request), "[\"a\",\"out\"]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_as_many_as_the_policy_says, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_as_large_as_the_policy_says, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_names, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_large_files_come_in_slices, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_cancelled_meanwhile, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_freed_meanwhile, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_the_session_ends_meanwhile, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_what_cannot_be_written, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
