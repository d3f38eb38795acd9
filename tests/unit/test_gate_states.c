/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a connection of the gate: each change of its state, allowed or not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "abort_fixture.h"
#include "gate/connection/connection.h"

#define C(name) STATE_BIT(CONNECTION_##name)

/* Another list than the one in the source: both must be changed. */
static const uint32_t connection_edges[CONNECTION_STATES] = {
	[CONNECTION_INSPECTING] = C(RESOLVING) | C(CLOSING) | C(CUT),
	[CONNECTION_RESOLVING] = C(DIALLING) | C(CLOSING) | C(CUT),
	[CONNECTION_DIALLING] =
		C(DIALLING) | C(HANDSHAKE) | C(ANSWERING) | C(PASSING) | C(CLOSING) | C(CUT),
	[CONNECTION_HANDSHAKE] = C(PASSING) | C(CLOSING) | C(CUT),
	[CONNECTION_ANSWERING] = C(PASSING) | C(CUT),
	[CONNECTION_PASSING] = C(CLOSING) | C(CUT),
	[CONNECTION_CLOSING] = 0,
	[CONNECTION_CUT] = 0,
};

static struct tls_end an_end;

static void connection_try(unsigned from, unsigned to)
{
	static struct cell_connection connection;

	connection.state = from;
	connection.in_end = connection.out_end = &an_end;
	cell_connection_enter(&connection, to);
}

static void test_edges(void **state)
{
	(void)state;
	assert_edges(connection_edges, CONNECTION_STATES, connection_try);
}

static void pass_without_a_host(void *user)
{
	static struct cell_connection connection = { .state = CONNECTION_DIALLING, .outside = -1 };

	(void)user;
	cell_connection_enter(&connection, CONNECTION_PASSING);
}

/* Bytes that the program has sent in TLS must not go out in clear. */
static void pass_opened_tls_in_clear(void *user)
{
	static struct cell_connection connection = { .state = CONNECTION_DIALLING,
						     .in_end = &an_end };

	(void)user;
	cell_connection_enter(&connection, CONNECTION_PASSING);
}

static void test_invariants(void **state)
{
	(void)state;
	assert_true(aborts(pass_without_a_host, NULL));
	assert_true(aborts(pass_opened_tls_in_clear, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_invariants),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
