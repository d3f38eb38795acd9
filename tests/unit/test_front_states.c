/* SPDX-License-Identifier: Apache-2.0 */
/* The life of an execution: each change of its state, allowed or not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "abort_fixture.h"
#include "front/execution/execution_internal.h"

#define E(name) STATE_BIT(EXECUTION_##name)

/* Another list than the one in the source: both must be changed. */
static const uint32_t execution_edges[EXECUTION_STATES] = {
	[EXECUTION_NEW] = E(RECORDING) | E(WAITING),
	[EXECUTION_RECORDING] = E(WAITING) | E(SAVING),
	[EXECUTION_WAITING] = E(STARTING) | E(SAVING),
	[EXECUTION_STARTING] = E(RUNNING) | E(SAVING),
	[EXECUTION_RUNNING] = E(PAUSED) | E(SAVING),
	[EXECUTION_PAUSED] = E(RUNNING) | E(SAVING),
	[EXECUTION_SAVING] = E(UNSAVED) | E(ENDED),
	[EXECUTION_UNSAVED] = E(EXCUSED) | E(ENDED),
	[EXECUTION_EXCUSED] = E(ENDED),
	[EXECUTION_ENDED] = 0,
};

/* Never looked into. */
#define SOME_RUN ((struct engine_run *)(uintptr_t)16)

static void execution_try(unsigned from, unsigned to)
{
	static struct execution execution;

	execution.state = from;
	execution.run = to == EXECUTION_PAUSED ? SOME_RUN : NULL;
	execution.save_since_ns = 1;
	execution_enter(&execution, to);
}

static void test_edges(void **state)
{
	(void)state;
	assert_edges(execution_edges, EXECUTION_STATES, execution_try);
}

static void save_while_it_runs(void *user)
{
	static struct execution execution = { .state = EXECUTION_RUNNING, .run = SOME_RUN };

	(void)user;
	execution_enter(&execution, EXECUTION_SAVING);
}

static void pause_without_a_run(void *user)
{
	static struct execution execution = { .state = EXECUTION_RUNNING };

	(void)user;
	execution_enter(&execution, EXECUTION_PAUSED);
}

static void unsaved_and_not_counted(void *user)
{
	static struct execution execution = { .state = EXECUTION_SAVING };

	(void)user;
	execution_enter(&execution, EXECUTION_UNSAVED);
}

static void fail_without_a_reason(void *user)
{
	static struct execution execution = { .state = EXECUTION_WAITING };

	(void)user;
	execution_fail(&execution);
}

static void test_invariants(void **state)
{
	(void)state;
	assert_true(aborts(save_while_it_runs, NULL));
	assert_true(aborts(pause_without_a_run, NULL));
	assert_true(aborts(unsaved_and_not_counted, NULL));
	assert_true(aborts(fail_without_a_reason, NULL));
}

/* Only a record in the ledger gets an end. */
static void test_recorded(void **state)
{
	static char key[] = "key";
	struct execution attached = { .kind = EXECUTION_ATTACHED };
	struct execution queued = { .kind = EXECUTION_QUEUED };
	struct execution keyed = { .kind = EXECUTION_RESUMABLE, .key = key };

	(void)state;
	for (unsigned i = 0; i < EXECUTION_STATES; i++) {
		attached.state = queued.state = keyed.state = i;
		assert_int_equal(execution_recorded(&attached), i >= EXECUTION_RUNNING);
		assert_true(execution_recorded(&queued));
		assert_true(execution_recorded(&keyed));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_invariants),
		cmocka_unit_test(test_recorded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
