/* SPDX-License-Identifier: Apache-2.0 */
/* The lives of a run and of its cell: exactly the listed changes are possible. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "abort_fixture.h"
#include "base/invariant.h"
#include "native/native_internal.h"

static const uint32_t run_edges[RUN_STATES] = {
	[RUN_SETTING_UP] = STATE_BIT(RUN_HELD) | STATE_BIT(RUN_RUNNING) | STATE_BIT(RUN_RESTING) |
			   STATE_BIT(RUN_ENDING) | STATE_BIT(RUN_COLLECTING),
	[RUN_HELD] = STATE_BIT(RUN_ASSIGNED) | STATE_BIT(RUN_RUNNING) | STATE_BIT(RUN_ENDING) |
		     STATE_BIT(RUN_COLLECTING),
	[RUN_ASSIGNED] = STATE_BIT(RUN_RUNNING) | STATE_BIT(RUN_RESTING) | STATE_BIT(RUN_ENDING) |
			 STATE_BIT(RUN_COLLECTING),
	[RUN_RUNNING] = STATE_BIT(RUN_RESTING) | STATE_BIT(RUN_ENDING) | STATE_BIT(RUN_COLLECTING),
	[RUN_RESTING] = STATE_BIT(RUN_RUNNING) | STATE_BIT(RUN_ENDING) | STATE_BIT(RUN_COLLECTING),
	[RUN_ENDING] = STATE_BIT(RUN_COLLECTING),
	[RUN_COLLECTING] = STATE_BIT(RUN_DONE),
	[RUN_DONE] = 0,
};

static void enter_run(unsigned from, unsigned to)
{
	struct run run = { .state = (enum run_state)from };

	run_enter(&run, (enum run_state)to);
}

static void test_run(void **state)
{
	(void)state;
	assert_edges(run_edges, RUN_STATES, enter_run);
}

static const uint32_t life_edges[CELL_LIFE_STATES] = {
	[CELL_LIVES] = STATE_BIT(CELL_PARKED) | STATE_BIT(CELL_GONE),
	[CELL_PARKED] = STATE_BIT(CELL_GONE),
	[CELL_GONE] = 0,
};

static void enter_life(unsigned from, unsigned to)
{
	struct run run = { .life = (enum cell_life)from };

	run_enter_life(&run, (enum cell_life)to);
}

static void test_life(void **state)
{
	struct run run = { .life = CELL_LIVES };

	(void)state;
	assert_edges(life_edges, CELL_LIFE_STATES, enter_life);
	run_cell_gone(&run);
	run_cell_gone(&run);
	assert_int_equal(run.life, CELL_GONE);
}

static const uint32_t driver_edges[DRIVER_STATES] = {
	[DRIVER_NONE] = STATE_BIT(DRIVER_STARTING),
	[DRIVER_STARTING] = STATE_BIT(DRIVER_WAITING),
	[DRIVER_WAITING] = STATE_BIT(DRIVER_ASSIGNED),
	[DRIVER_ASSIGNED] = STATE_BIT(DRIVER_DONE),
	[DRIVER_DONE] = 0,
};

static void enter_driver(unsigned from, unsigned to)
{
	struct native_driver driver = { .state = (enum driver_state)from };

	native_driver_enter(&driver, (enum driver_state)to);
}

static void test_driver(void **state)
{
	(void)state;
	assert_edges(driver_edges, DRIVER_STATES, enter_driver);
}

static const uint32_t request_edges[REQUEST_STATES] = {
	[REQUEST_NONE] = STATE_BIT(REQUEST_SENT),
	[REQUEST_SENT] = STATE_BIT(REQUEST_NONE) | STATE_BIT(REQUEST_ANSWERED),
	[REQUEST_ANSWERED] = STATE_BIT(REQUEST_NONE),
};

static void enter_request(unsigned from, unsigned to)
{
	struct native_cell native = { .request = (enum native_request)from };

	native_request_enter(&native, (enum native_request)to);
}

static void test_request(void **state)
{
	(void)state;
	assert_edges(request_edges, REQUEST_STATES, enter_request);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_run),
		cmocka_unit_test(test_life),
		cmocka_unit_test(test_driver),
		cmocka_unit_test(test_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
