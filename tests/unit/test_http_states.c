/* SPDX-License-Identifier: Apache-2.0 */
/* The lives of a connection and of an exchange: each change of a state, allowed or not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "abort_fixture.h"
#include "http/connection/exchange.h"

#define C(name) STATE_BIT(CONNECTION_##name)
#define X(name) STATE_BIT(EXCHANGE_##name)

/* Another list than the one in the source: both must be changed. */
static const uint32_t connection_edges[CONNECTION_STATES] = {
	[CONNECTION_ACCEPTED] = C(OPENING) | C(IDLE),
	[CONNECTION_OPENING] = C(IDLE) | C(FLUSHING) | C(ENDING) | C(LINGERING) | C(BROKEN),
	[CONNECTION_IDLE] = C(HEAD) | C(BODY) | C(WORKING) | C(FLUSHING) | C(BROKEN),
	[CONNECTION_HEAD] = C(BODY) | C(WORKING) | C(FLUSHING) | C(BROKEN),
	[CONNECTION_BODY] = C(WORKING) | C(FLUSHING) | C(BROKEN),
	[CONNECTION_WORKING] = C(STREAMING) | C(FLUSHING) | C(BROKEN),
	[CONNECTION_STREAMING] = C(HELD) | C(FLUSHING) | C(BROKEN),
	[CONNECTION_HELD] = C(STREAMING) | C(FLUSHING) | C(BROKEN),
	[CONNECTION_FLUSHING] = C(IDLE) | C(ENDING) | C(LINGERING) | C(BROKEN),
	[CONNECTION_ENDING] = C(LINGERING) | C(BROKEN),
	[CONNECTION_LINGERING] = C(BROKEN),
	[CONNECTION_BROKEN] = C(BODY) | C(WORKING) | C(STREAMING) | C(FLUSHING) | C(BROKEN),
};

static const uint32_t exchange_edges[EXCHANGE_STATES] = {
	[EXCHANGE_READING] = X(GIVEN) | X(ENDED),
	[EXCHANGE_GIVEN] = X(STREAMING) | X(ENDED),
	[EXCHANGE_STREAMING] = X(ENDED),
	[EXCHANGE_ENDED] = 0,
};

#define WITH_EXCHANGE (C(HEAD) | C(BODY) | C(WORKING) | C(STREAMING) | C(HELD))

struct half {
	struct http_server server;
	struct exchange exchange;
	struct http_connection connection;
};

/* Without a socket: a change of state needs none, except for the end of an idle one. */
static struct half *half_new(unsigned from)
{
	static struct half half;

	assert_int_equal(loop_new(&half.server.loop), 0);
	half.connection = (struct http_connection){
		.server = &half.server,
		.byte_stream = { .fd = -1 },
		.state = (uint8_t)from,
	};
	half.exchange.connection = &half.connection;
	return &half;
}

static void connection_try(unsigned from, unsigned to)
{
	struct half *half = half_new(from);
	struct http_connection *c = &half->connection;

	c->exchange = to < CONNECTION_STATES && WITH_EXCHANGE >> to & 1 ? &half->exchange : NULL;
	connection_enter(c, to);
	/* A broken connection stays broken. */
	if (c->state != (from == CONNECTION_BROKEN ? from : to)) {
		_exit(1);
	}
}

static void test_connection(void **state)
{
	(void)state;
	assert_edges(connection_edges, CONNECTION_STATES, connection_try);
}

static void without_exchange(void *user)
{
	struct half *half = half_new(CONNECTION_IDLE);

	(void)user;
	connection_enter(&half->connection, CONNECTION_WORKING);
}

static void idle_with_exchange(void *user)
{
	struct half *half = half_new(CONNECTION_FLUSHING);

	(void)user;
	half->connection.exchange = &half->exchange;
	connection_enter(&half->connection, CONNECTION_IDLE);
}

static void idle_with_output(void *user)
{
	struct half *half = half_new(CONNECTION_FLUSHING);

	(void)user;
	half->connection.outbox.end = 1;
	connection_enter(&half->connection, CONNECTION_IDLE);
}

static void test_connection_invariants(void **state)
{
	(void)state;
	assert_true(aborts(without_exchange, NULL));
	assert_true(aborts(idle_with_exchange, NULL));
	assert_true(aborts(idle_with_output, NULL));
}

static void exchange_try(unsigned from, unsigned to)
{
	struct exchange x = { .state = from };

	exchange_enter(&x, to);
}

static void test_exchange(void **state)
{
	(void)state;
	assert_edges(exchange_edges, EXCHANGE_STATES, exchange_try);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_connection),
		cmocka_unit_test(test_connection_invariants),
		cmocka_unit_test(test_exchange),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
