/* SPDX-License-Identifier: Apache-2.0 */
/* Empty code, and code that is too long: detected without reading all of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <brig/brig.h>

#include "base/blank.h"

#define LONGEST ((size_t)16 << 20)

struct fixture {
	struct brig_context *context;
	struct brig_session *session;
	char *blanks; /* one more than the maximum */
};

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
	f->blanks = malloc(LONGEST + 1);
	memset(f->blanks, '\n', LONGEST + 1);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	brig_session_close(f->session);
	brig_context_free(f->context);
	free(f->blanks);
	free(f);
	return 0;
}

/* In a cell of its own, or in the session. */
static int start(const struct fixture *f, size_t size, bool in_session, struct brig_run **ret,
		 struct brig_error *error)
{
	struct brig_request request = {
		.size = sizeof(request), .language = "python", .code = f->blanks, .code_size = size
	};

	*error = (struct brig_error){ 0 };
	return in_session ? brig_session_start(f->session, &request, ret, error)
			  : brig_run_start(f->context, &request, ret, error);
}

static void test_blank(void **state)
{
	const struct fixture *f = *state;
	struct brig_error error;
	struct brig_run *run = NULL;

	assert_true(text_is_blank("", 0));
	assert_true(text_is_blank(" \t\n\v\f\r", 6));
	assert_false(text_is_blank("\0", 1));
	assert_false(text_is_blank("  x", 3));
	assert_true(text_is_blank(f->blanks, BLANK_BYTES_MAX));
	assert_false(text_is_blank(f->blanks, BLANK_BYTES_MAX + 1));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(start(f, BLANK_BYTES_MAX, i, &run, &error), -EINVAL);
		assert_string_equal(error.message, "the code is empty");
	}
}

/* A long program of blanks is a program that does nothing. */
static void test_long_and_blank(void **state)
{
	const struct fixture *f = *state;
	struct brig_error error;

	for (int i = 0; i < 2; i++) {
		struct brig_run *run = NULL;

		assert_int_equal(start(f, BLANK_BYTES_MAX + 1, i, &run, &error), 0);
		assert_int_equal(brig_run_wait(run, &error), 0);
		struct brig_result *result = brig_run_take_result(run);
		assert_int_equal(result->status, BRIG_OK);
		brig_result_free(result);
		brig_run_free(run);
	}
}

/* The error about the length comes first. */
static void test_too_long(void **state)
{
	const struct fixture *f = *state;
	struct brig_error error;
	struct brig_run *run = NULL;

	for (int i = 0; i < 2; i++) {
		assert_true(start(f, LONGEST + 1, i, &run, &error) < 0);
		assert_non_null(strstr(error.message, "more than 16 MiB"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_blank, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_long_and_blank, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_too_long, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
