/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session's part in its tenant's time of the engine: a run that keeps the engine busy is paused.
 */
#include "engine_fixture.h"

#include "engine/local/engine_local.h"

#define LOOKS       100
#define PATIENCE_NS (60000 * MS)

#define FLOOD                                                                                      \
	"import os\n"                                                                              \
	"while True:\n"                                                                            \
	"    os.write(1, b'a'); os.write(2, b'b')\n"
/* Every call is reported to the engine, and the flood continues when the run has ended. */
#define REFUSED_BETWEEN_RUNS                                                                       \
	"import ctypes, threading\n"                                                               \
	"libc = ctypes.CDLL(None)\n"                                                               \
	"def flood():\n"                                                                           \
	"    while True: libc.mount(b'a', b'b', b'c', 0, None)\n"                                  \
	"threading.Thread(target=flood, daemon=True).start()\n"

static struct local *local_of(struct fixture *fixture)
{
	return (struct local *)(void *)fixture->engine;
}

/* However slow the flood is on a busy host: its next turn is more than its share. */
static void put_in_debt(struct fixture *fixture)
{
	shares_of(&local_of(fixture)->shares, "alice")->credit_ns = -(int64_t)SHARE_DEBT_NS;
}

/* Is it still the pause of the last check? Then none of its output has arrived since. */
static bool held_still(const struct heard *outcome, uint64_t *hold_ns, size_t *streamed)
{
	const struct loop_timer *held = &outcome->run->held;
	bool still = held->place && held->at_ns == *hold_ns;

	if (still) {
		assert_int_equal(outcome->streamed, *streamed);
	}
	*hold_ns = held->place ? held->at_ns : 0;
	*streamed = outcome->streamed;
	return still;
}

static void test_a_held_run_in_a_session_is_not_heard(void **state)
{
	struct fixture fixture;
	struct heard outcome = { 0 };
	uint64_t hold_ns = 0;
	size_t streamed = 0;
	unsigned looks = 0;
	char id[27];

	(void)state;
	setup(&fixture, NULL);
	open_session(&fixture, NULL, 0, id);
	struct engine_call flood = {
		.op = ENGINE_EXECUTE, .session = id, .stream = true, .run = { .code = FLOOD }
	};
	assert_int_equal(begin(&fixture, &flood, &outcome), 0);
	for (uint64_t end = clock_now_ns() + PATIENCE_NS;
	     looks < LOOKS && !outcome.ended && clock_now_ns() < end;) {
		put_in_debt(&fixture);
		run_for(&fixture, MS / 2);
		looks += !outcome.ended && held_still(&outcome, &hold_ns, &streamed) && streamed;
	}
	assert_int_equal(looks, LOOKS);
	/* It can be stopped, and the next run starts. */
	engine_cancel(outcome.run);
	while (!outcome.ended) {
		loop_run(fixture.loop);
	}
	assert_non_null(strstr(outcome.data, "\"status\":\"cancelled\""));
	free(outcome.data);
	json_t *root = run_in(&fixture, id, "6 * 7");
	assert_int_equal(json_integer_value(json_object_get(root, "value")), 42);
	json_decref(root);
	teardown(&fixture);
}

static const struct local_session *only_session(struct fixture *fixture)
{
	return LIST_FIRST(&local_of(fixture)->sessions, const struct local_session, node);
}

static void test_a_session_is_held_between_runs(void **state)
{
	struct fixture fixture;
	bool held = false;
	char id[27];

	(void)state;
	setup(&fixture, NULL);
	open_session(&fixture, NULL, 0, id);
	json_decref(run_in(&fixture, id, REFUSED_BETWEEN_RUNS));
	for (uint64_t end = clock_now_ns() + PATIENCE_NS;
	     !held && only_session(&fixture) && clock_now_ns() < end;) {
		put_in_debt(&fixture);
		run_for(&fixture, MS / 2);
		held = only_session(&fixture) && only_session(&fixture)->held.place;
	}
	assert_true(held);
	assert_true(local_of(&fixture)->shares.debtors == 1);
	teardown(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_held_run_in_a_session_is_not_heard),
		cmocka_unit_test(test_a_session_is_held_between_runs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
