/* SPDX-License-Identifier: Apache-2.0 */
/* The lives of calls, sessions and forks in the engine: each change of a state, allowed or not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "abort_fixture.h"
#include "engine/fork/engine_fork.h"

#define C(name) STATE_BIT(CALL_##name)
#define S(name) STATE_BIT(LOCAL_SESSION_##name)
#define F(name) STATE_BIT(FORK_##name)

/* Other lists than those in the source: both must be changed. */
static const uint32_t call_edges[CALL_STATES] = {
	[CALL_NEW] = C(WAITING) | C(RUNNING) | C(WORKING) | C(ANSWERED),
	[CALL_WAITING] = C(RUNNING) | C(FAILED),
	[CALL_RUNNING] = C(WRITING) | C(FAILED),
	[CALL_WRITING] = C(ANSWERED) | C(FAILED),
	[CALL_WORKING] = C(ANSWERED) | C(FAILED),
	[CALL_ANSWERED] = C(FAILED),
	[CALL_FAILED] = 0,
};

static const uint32_t session_edges[LOCAL_SESSION_STATES] = {
	[LOCAL_SESSION_OPENING] = S(IDLE) | S(ENDED),
	[LOCAL_SESSION_IDLE] = S(BUSY) | S(ENDED),
	[LOCAL_SESSION_BUSY] = S(IDLE) | S(ENDED),
	[LOCAL_SESSION_ENDED] = 0,
};

static const uint32_t fork_edges[FORK_STATES] = {
	[FORK_WAITING] = F(OPENING),
	[FORK_OPENING] = F(SAVING),
	[FORK_SAVING] = F(COPY_STATE),
	[FORK_COPY_STATE] = F(COPY_LIST),
	[FORK_COPY_LIST] = F(COPY_FILES),
	[FORK_COPY_FILES] = F(LOADING),
	[FORK_LOADING] = 0,
};

/* Never looked into. */
#define SOME_RUN  ((struct brig_run *)(uintptr_t)16)
#define SOME_CALL ((struct engine_run *)(uintptr_t)16)

static void call_try(unsigned from, unsigned to)
{
	static struct engine_run run;

	run.state = from;
	run.run = to == CALL_RUNNING ? SOME_RUN : NULL;
	local_call_enter(&run, to);
}

static void session_try(unsigned from, unsigned to)
{
	static struct local_session session;

	session.state = from;
	session.current = to == LOCAL_SESSION_BUSY ? SOME_CALL : NULL;
	local_session_enter(&session, to);
}

static void fork_try(unsigned from, unsigned to)
{
	static struct local_fork fork;

	fork.state = from;
	fork.to[0] = to == FORK_OPENING ? '\0' : 'x';
	fork_enter(&fork, to);
}

static void test_edges(void **state)
{
	(void)state;
	assert_edges(call_edges, CALL_STATES, call_try);
	assert_edges(session_edges, LOCAL_SESSION_STATES, session_try);
	assert_edges(fork_edges, FORK_STATES, fork_try);
}

static void run_without_a_run(void *user)
{
	static struct engine_run run;

	(void)user;
	local_call_enter(&run, CALL_RUNNING);
}

static void open_with_an_opener(void *user)
{
	static struct local_session session = { .opener = SOME_CALL };

	(void)user;
	local_session_enter(&session, LOCAL_SESSION_IDLE);
}

static void idle_with_a_run(void *user)
{
	static struct local_session session = { .state = LOCAL_SESSION_BUSY, .current = SOME_CALL };

	(void)user;
	local_session_enter(&session, LOCAL_SESSION_IDLE);
}

static void copy_during_a_call(void *user)
{
	static struct local_fork fork = { .state = FORK_SAVING, .to = "x", .inner = SOME_CALL };

	(void)user;
	fork_enter(&fork, FORK_COPY_STATE);
}

static void test_invariants(void **state)
{
	(void)state;
	assert_true(aborts(run_without_a_run, NULL));
	assert_true(aborts(open_with_an_opener, NULL));
	assert_true(aborts(idle_with_a_run, NULL));
	assert_true(aborts(copy_during_a_call, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_invariants),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
