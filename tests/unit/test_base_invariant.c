/* SPDX-License-Identifier: Apache-2.0 */
/* Assertions that stay on, and tables of states: base/invariant.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "abort_fixture.h"
#include "base/invariant.h"

enum door_state { DOOR_OPEN, DOOR_CLOSED, DOOR_LOCKED, DOOR_STATES };

static const uint32_t door_edges[] = {
	[DOOR_OPEN] = STATE_BIT(DOOR_CLOSED),
	[DOOR_CLOSED] = STATE_BIT(DOOR_OPEN) | STATE_BIT(DOOR_LOCKED),
	[DOOR_LOCKED] = 0,
};

static void claim(void *user)
{
	const bool *truth = user;

	invariant(*truth);
}

static void test_invariant(void **state)
{
	bool yes = true, no = false;

	(void)state;
	assert_false(aborts(claim, &yes));
	assert_true(aborts(claim, &no));
}

static void door_enter(unsigned from, unsigned to)
{
	invariant(state_allows(door_edges, from, to));
}

static void test_edges(void **state)
{
	(void)state;
	assert_edges(door_edges, DOOR_STATES, door_enter);
	assert_false(state_allows(door_edges, DOOR_STATES, DOOR_OPEN));
	assert_false(state_allows(door_edges, DOOR_OPEN, 32 + DOOR_CLOSED));
	assert_false(state_allows(door_edges, UINT32_MAX, DOOR_CLOSED));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_invariant),
		cmocka_unit_test(test_edges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
