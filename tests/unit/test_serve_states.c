/* SPDX-License-Identifier: Apache-2.0 */
/* The lives of a role and of a set of roles: each change of a state, allowed or not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "abort_fixture.h"
#include "serve/supervisor/supervisor_internal.h"

/* Other lists than those in the source: both must be changed. */
static const uint32_t child_edges[CHILD_STATES] = {
	[CHILD_ABSENT] = STATE_BIT(CHILD_STARTING),
	[CHILD_STARTING] = STATE_BIT(CHILD_READY) | STATE_BIT(CHILD_ENDED),
	[CHILD_READY] = STATE_BIT(CHILD_ENDED),
	[CHILD_ENDED] = 0,
};

static const uint32_t phase_edges[PHASES] = {
	[RESTING] = STATE_BIT(STARTING) | STATE_BIT(RESTING),
	[STARTING] = STATE_BIT(RUNNING) | STATE_BIT(ENDING) | STATE_BIT(RESTING),
	[RUNNING] = STATE_BIT(DRAINING) | STATE_BIT(ENDING),
	[DRAINING] = STATE_BIT(ENDING),
	[ENDING] = STATE_BIT(ENDING) | STATE_BIT(RESTING),
};

static void child_try(unsigned from, unsigned to)
{
	struct role_child child = { .state = from };

	child.pidfd = to == CHILD_STARTING || to == CHILD_READY ? 0 : -1;
	role_child_enter(&child, to);
}

static void phase_try(unsigned from, unsigned to)
{
	struct supervisor supervisor = { .phase = from };

	supervisor_enter(&supervisor, to, 0);
}

static void test_edges(void **state)
{
	(void)state;
	assert_edges(child_edges, CHILD_STATES, child_try);
	assert_edges(phase_edges, PHASES, phase_try);
}

static void end_without_its_death(void *user)
{
	struct role_child child = { .state = CHILD_READY, .pidfd = 0 };

	(void)user;
	role_child_enter(&child, CHILD_ENDED);
}

static void run_before_all_are_ready(void *user)
{
	struct supervisor supervisor = { .phase = STARTING };

	(void)user;
	supervisor.set.children[ROLE_LEDGER].state = CHILD_STARTING;
	supervisor_enter(&supervisor, RUNNING, 0);
}

static void rest_while_one_lives(void *user)
{
	struct supervisor supervisor = { .phase = ENDING };

	(void)user;
	supervisor.set.children[ROLE_WARDEN].state = CHILD_READY;
	supervisor_enter(&supervisor, RESTING, 0);
}

static void test_invariants(void **state)
{
	(void)state;
	assert_true(aborts(end_without_its_death, NULL));
	assert_true(aborts(run_before_all_are_ready, NULL));
	assert_true(aborts(rest_while_one_lives, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_invariants),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
