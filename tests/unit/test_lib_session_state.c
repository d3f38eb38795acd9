/* SPDX-License-Identifier: Apache-2.0 */
/* The lives of a session and of its channel: exactly the listed changes are possible. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "abort_fixture.h"
#include "base/invariant.h"
#include "lib/session/session.h"

static const uint32_t session_edges[SESSION_STATES] = {
	[SESSION_OPENING] = STATE_BIT(SESSION_IDLE) | STATE_BIT(SESSION_GONE),
	[SESSION_IDLE] = STATE_BIT(SESSION_BUSY) | STATE_BIT(SESSION_GONE),
	[SESSION_BUSY] = STATE_BIT(SESSION_INTERRUPTED) | STATE_BIT(SESSION_COLLECTING) |
			 STATE_BIT(SESSION_IDLE) | STATE_BIT(SESSION_GONE),
	[SESSION_INTERRUPTED] =
		STATE_BIT(SESSION_COLLECTING) | STATE_BIT(SESSION_IDLE) | STATE_BIT(SESSION_GONE),
	[SESSION_COLLECTING] = STATE_BIT(SESSION_IDLE),
	[SESSION_GONE] = 0,
};

static void enter_session(unsigned from, unsigned to)
{
	struct brig_session session = { .state = (enum session_state)from };

	session_enter(&session, (enum session_state)to);
}

static void test_session(void **state)
{
	(void)state;
	assert_edges(session_edges, SESSION_STATES, enter_session);
}

/* Callers see a run until its result is complete. */
static void test_shown(void **state)
{
	static const enum brig_session_state shown[SESSION_STATES] = {
		BRIG_SESSION_OPENING, BRIG_SESSION_IDLE, BRIG_SESSION_BUSY,
		BRIG_SESSION_BUSY,    BRIG_SESSION_BUSY, BRIG_SESSION_GONE,
	};

	(void)state;
	for (unsigned i = 0; i < SESSION_STATES; i++) {
		struct brig_session session = { .state = (enum session_state)i };
		assert_int_equal(brig_session_state(&session), shown[i]);
		assert_int_equal(session_is_busy(&session), shown[i] == BRIG_SESSION_BUSY);
	}
}

static const uint32_t channel_edges[CHANNEL_STATES] = {
	[CHANNEL_OPENING] = STATE_BIT(CHANNEL_IDLE),
	[CHANNEL_IDLE] = STATE_BIT(CHANNEL_AWAITING),
	[CHANNEL_AWAITING] = STATE_BIT(CHANNEL_IDLE),
};

static void enter_channel(unsigned from, unsigned to)
{
	struct channel channel = { .state = (enum channel_state)from };

	channel_enter(&channel, (enum channel_state)to);
}

static void test_channel(void **state)
{
	(void)state;
	assert_edges(channel_edges, CHANNEL_STATES, enter_channel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_session),
		cmocka_unit_test(test_shown),
		cmocka_unit_test(test_channel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
