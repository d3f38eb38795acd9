/* SPDX-License-Identifier: Apache-2.0 */
/* Cells of a context whose thread has other work: their end blocks no caller. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <string.h>

#include <brig/brig.h>

#include "base/clock.h"
#include "kernel/cgroup/cgroup.h"
#include "lib/context.h"
#include "lib/warm/warm.h"

#define RUNS    100u /* more than were ever reaped together */
#define HANG_NS 60000000000ull

static int set_up(void **state)
{
	struct brig_context_options options = { .size = sizeof(options), .no_cache = true };
	struct brig_context *context = NULL;
	struct brig_error error = { 0 };

	if (brig_context_new(&options, &context, &error) < 0 ||
	    context_hurry(context, &error) < 0) {
		fail_msg("%s", error.message);
	}
	*state = context;
	return 0;
}

static int tear_down(void **state)
{
	brig_context_free(*state);
	return 0;
}

static struct brig_run *start(struct brig_context *context)
{
	struct brig_request request = { .size = sizeof(request),
					.language = "bash",
					.code = "sleep 60 & sleep 60" };
	struct brig_error error = { 0 };
	struct brig_run *run = NULL;

	if (brig_run_start(context, &request, &run, &error) < 0) {
		fail_msg("%s", error.message);
	}
	return run;
}

static void step_until_gone(struct brig_context *context)
{
	uint64_t end = clock_now_ns() + HANG_NS;

	while (context->warm->ended_count || cgroup_manager_tidy(context->groups)) {
		struct pollfd ready = { .fd = brig_context_fd(context), .events = POLLIN };
		poll(&ready, 1, 10);
		brig_context_step(context);
		assert_true(clock_now_ns() < end);
	}
}

/* Each is freed while it runs: all are dying at once, and none was waited for. */
static void freed_runs_are_not_waited_for(void **state)
{
	struct brig_context *context = *state;
	struct brig_run *runs[8];

	for (unsigned i = 0; i < 8; i++) {
		runs[i] = start(context);
	}
	for (unsigned i = 0; i < 8; i++) {
		brig_run_free(runs[i]);
	}
	assert_in_range(context->warm->ended_count, 1, 8);
	step_until_gone(context);
}

/* The list grows as needed: no cell is waited for to make room. */
static void many_may_be_dying(void **state)
{
	struct brig_context *context = *state;
	unsigned most = 0;

	for (unsigned i = 0; i < RUNS; i++) {
		brig_run_free(start(context));
		most = context->warm->ended_count > most ? context->warm->ended_count : most;
	}
	assert_in_range(most, 1, RUNS);
	step_until_gone(context);
}

/* Without pools there is also a list of dying cells, and still no pool. */
static void there_are_no_pools(void **state)
{
	struct brig_context *context = *state;
	struct brig_request like = { .size = sizeof(like), .language = "python", .code = "0" };
	struct brig_error error = { 0 };

	assert_true(brig_context_fd(context) >= 0);
	assert_int_equal(brig_context_warm(context, &like, 1, &error), -ENOTSUP);
	assert_string_equal(error.message, "the context has no pools");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(freed_runs_are_not_waited_for, set_up, tear_down),
		cmocka_unit_test_setup_teardown(many_may_be_dying, set_up, tear_down),
		cmocka_unit_test_setup_teardown(there_are_no_pools, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
