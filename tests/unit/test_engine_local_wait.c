/* SPDX-License-Identifier: Apache-2.0 */
/* Runs that wait on the loop for a cell that is being made: in time, too late, cancelled, many. */
#include "engine_fixture.h"

#include <sys/epoll.h>

#include "engine/local/engine_local.h"
#include "lib/context.h"
#include "lib/warm/warm.h"

#define SLEEP "import time; time.sleep(30)"

static struct local *local_of(struct fixture *fixture)
{
	return (struct local *)(void *)fixture->engine;
}

static void set_up_warm(struct fixture *fixture, unsigned cells, uint64_t patience_ns)
{
	struct brig_warm_options warm = { .size = sizeof(warm), .cells_max = cells };
	struct engine_options options = { .context.warm = &warm };

	setup(fixture, &options);
	local_of(fixture)->patience_ns = patience_ns;
}

static int begin_code(struct fixture *fixture, const char *tenant, const char *code,
		      struct heard *outcome)
{
	struct engine_call call = { .op = ENGINE_EXECUTE,
				    .tenant = tenant,
				    .run = { .language = "python", .code = code } };

	*outcome = (struct heard){ 0 };
	return begin(fixture, &call, outcome);
}

static unsigned waiting(struct fixture *fixture)
{
	unsigned count = 0;

	LIST_EACH(struct engine_run, run, &local_of(fixture)->runs, node) {
		count += run->wait != NULL;
	}
	return count;
}

static void finish(struct fixture *fixture, struct heard *outcome)
{
	uint64_t end = clock_now_ns() + 30000 * MS;

	while (!outcome->ended && !outcome->failed && clock_now_ns() < end) {
		run_for(fixture, 5 * MS);
	}
	assert_int_equal(outcome->ended, 1);
}

static bool started(const struct heard *outcome, const char *how)
{
	json_t *root = json_loadb(outcome->data, outcome->size, 0, NULL);
	const char *start = text_at(root, "start");
	bool is = start && strcmp(start, how) == 0;

	assert_non_null(root);
	json_decref(root);
	return is;
}

static void drop(struct heard *outcome)
{
	free(outcome->data);
	outcome->data = NULL;
}

/* Waits until the tenant's pool has a cell; skips if the host cannot have pools. */
static void warm_up(struct fixture *fixture, const char *tenant)
{
	uint64_t end = clock_now_ns() + 20000 * MS;
	struct heard outcome;
	bool warm = false;

	while (!warm && clock_now_ns() < end) {
		assert_int_equal(begin_code(fixture, tenant, "1", &outcome), 0);
		finish(fixture, &outcome);
		warm = !started(&outcome, "cold");
		drop(&outcome);
		run_for(fixture, 50 * MS);
	}
	if (!warm) {
		teardown(fixture);
		skip();
	}
	run_for(fixture, 300 * MS); /* another one is made in its place */
}

/*
 * The first gets the only cell, and all others wait. On a slow host the next cell may be made
 * before they have all begun, but not each time.
 */
static void begin_in_line(struct fixture *fixture, const char *const codes[], unsigned count,
			  struct heard outcomes[])
{
	enum { TIMES = 20 };

	for (int time = 0; time < TIMES; time++) {
		warm_up(fixture, "alice");
		for (unsigned i = 0; i < count; i++) {
			assert_int_equal(begin_code(fixture, "alice", codes[i], &outcomes[i]), 0);
		}
		if (waiting(fixture) == count - 1) {
			return;
		}
		for (unsigned i = 0; i < count; i++) {
			engine_cancel(outcomes[i].run);
		}
		for (unsigned i = 0; i < count; i++) {
			finish(fixture, &outcomes[i]);
			drop(&outcomes[i]);
		}
	}
	fail_msg("the others never waited");
}

static void test_in_time(void **state)
{
	static const char *const codes[] = { "print(1)", "print(2)" };
	struct fixture fixture;
	struct heard outcomes[2];

	(void)state;
	set_up_warm(&fixture, 1, 10000 * MS);
	begin_in_line(&fixture, codes, 2, outcomes);
	for (int i = 0; i < 2; i++) {
		finish(&fixture, &outcomes[i]);
		assert_false(started(&outcomes[i], "cold"));
		assert_non_null(strstr(outcomes[i].data, i ? "2\\n" : "1\\n"));
		drop(&outcomes[i]);
	}
	assert_int_equal(waiting(&fixture), 0);
	teardown(&fixture);
}

/* Two at a time where there is one cell: how the second of them started. */
static bool second_is_cold(struct fixture *fixture)
{
	struct heard first, second;
	bool cold;

	assert_int_equal(begin_code(fixture, "alice", "print(1)", &first), 0);
	assert_int_equal(begin_code(fixture, "alice", "print(2)", &second), 0);
	finish(fixture, &second);
	cold = started(&second, "cold");
	finish(fixture, &first);
	assert_int_equal(waiting(fixture), 0);
	drop(&first);
	drop(&second);
	return cold;
}

/*
 * No run waits longer than this: it then starts as if there were no pools. The template may have
 * made the next cell before the loop reaches the timer, but not each time.
 */
static void test_too_late(void **state)
{
	enum { TIMES = 20 };
	struct fixture fixture;
	bool cold = false;

	(void)state;
	set_up_warm(&fixture, 1, 1); /* expires at once */
	for (int i = 0; i < TIMES && !cold; i++) {
		warm_up(&fixture, "alice");
		cold = second_is_cold(&fixture);
	}
	assert_true(cold);
	teardown(&fixture);
}

static void test_cancelled(void **state)
{
	static const char *const codes[] = { "1", SLEEP, "print(3)" };
	struct fixture fixture;
	struct heard outcomes[3];

	(void)state;
	set_up_warm(&fixture, 1, 10000 * MS);
	begin_in_line(&fixture, codes, 3, outcomes);
	/* The result reports the cancellation, and the next run in the queue starts. */
	engine_cancel(outcomes[1].run);
	assert_int_equal(outcomes[1].ended + outcomes[1].failed, 0);
	assert_int_equal(waiting(&fixture), 1);
	finish(&fixture, &outcomes[1]);
	assert_non_null(strstr(outcomes[1].data, "\"status\":\"cancelled\""));
	finish(&fixture, &outcomes[0]);
	finish(&fixture, &outcomes[2]);
	assert_non_null(strstr(outcomes[2].data, "3\\n"));
	drop(&outcomes[0]);
	drop(&outcomes[1]);
	drop(&outcomes[2]);
	teardown(&fixture);
}

/* A forgotten run sends nothing and leaves nothing, whether it is the first or the last. */
static void test_forgotten(void **state)
{
	static const char *const codes[] = { "print(4)", "print(4)", "print(4)", "print(4)" };
	struct fixture fixture;
	struct heard outcomes[4];

	(void)state;
	set_up_warm(&fixture, 1, 10000 * MS);
	begin_in_line(&fixture, codes, 4, outcomes);
	engine_forget(outcomes[3].run);
	engine_forget(outcomes[1].run);
	assert_int_equal(waiting(&fixture), 1);
	finish(&fixture, &outcomes[0]);
	finish(&fixture, &outcomes[2]);
	assert_int_equal(outcomes[1].ended + outcomes[1].failed, 0);
	assert_int_equal(outcomes[3].ended + outcomes[3].failed, 0);
	drop(&outcomes[0]);
	drop(&outcomes[2]);
	teardown(&fixture);
}

static void test_freed(void **state)
{
	static const char *const codes[] = { "1", "1", "1" };
	struct fixture fixture;
	struct heard outcomes[5];

	(void)state;
	set_up_warm(&fixture, 1, 10000 * MS);
	begin_in_line(&fixture, codes, 3, outcomes);
	for (int i = 3; i < 5; i++) {
		assert_int_equal(begin_code(&fixture, "bob", "1", &outcomes[i]), 0);
	}
	teardown(&fixture);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(outcomes[i].ended + outcomes[i].failed, 0);
	}
}

/* If its output is paused before it begins, it begins paused. */
static void test_paused(void **state)
{
	struct fixture fixture;
	struct heard first, second;
	struct engine_call flood = { .op = ENGINE_EXECUTE,
				     .tenant = "alice",
				     .stream = true,
				     .run = { .language = "python",
					      .code = "print('x' * 5000000)",
					      .limits.stdout_bytes = 8 << 20 } };

	(void)state;
	set_up_warm(&fixture, 1, 10000 * MS);
	warm_up(&fixture, "alice");
	assert_int_equal(begin_code(&fixture, "alice", "1", &first), 0);
	second = (struct heard){ 0 };
	assert_int_equal(begin(&fixture, &flood, &second), 0);
	engine_pause(second.run, true);
	finish(&fixture, &first);
	run_for(&fixture, 500 * MS);
	assert_int_equal(second.ended, 0);
	assert_true(second.streamed <= 2 << 20);
	engine_pause(second.run, false);
	finish(&fixture, &second);
	assert_int_equal(second.streamed, 5000001);
	drop(&first);
	drop(&second);
	teardown(&fixture);
}

static const struct engine_run *first_waiting(struct fixture *fixture)
{
	return LIST_FIRST(&local_of(fixture)->waiting, struct engine_run, waiting_node);
}

/* In the order of arrival; and no newcomer takes the cell that another waits for. */
static void test_many(void **state)
{
	enum { MANY = 22, MOST = 200 }; /* on a slow host cells are made meanwhile */
	struct fixture fixture;
	struct heard outcomes[MOST];
	const struct engine_run *before = NULL;
	int count = 0;

	(void)state;
	set_up_warm(&fixture, 1, 20000 * MS);
	warm_up(&fixture, "alice");
	while (waiting(&fixture) < MANY && count < MOST) {
		assert_int_equal(begin_code(&fixture, "alice", "print(5)", &outcomes[count++]), 0);
	}
	assert_true(waiting(&fixture) >= MANY);
	while (waiting(&fixture)) {
		/* The first in the queue stays the first until it begins. */
		before = first_waiting(&fixture);
		run_for(&fixture, 1 * MS);
		bool begun = first_waiting(&fixture) != before;
		for (int i = 0; i < count && begun; i++) {
			assert_true(outcomes[i].run != before || !before->wait);
		}
	}
	for (int i = 0; i < count; i++) {
		finish(&fixture, &outcomes[i]);
		assert_non_null(strstr(outcomes[i].data, "5\\n"));
		drop(&outcomes[i]);
	}
	teardown(&fixture);
}

static struct warm_pool *pool_of(struct fixture *fixture, const char *tenant)
{
	struct warm *warm = local_of(fixture)->context->warm;

	for (unsigned i = 0; i < warm->count; i++) {
		if (strcmp(warm->pools[i]->tenant, tenant) == 0) {
			return warm->pools[i];
		}
	}
	fail_msg("%s has no pool", tenant);
	return NULL;
}

/*
 * Any step of a run, and any start, steps the pools too. A cell that is ready after such a step
 * makes no descriptor readable.
 */
static void test_ready_meanwhile(void **state)
{
	static const char *const codes[] = { "import time; time.sleep(600)", "print(2)" };
	uint64_t end = clock_now_ns() + 20000 * MS;
	struct fixture fixture;
	struct heard outcomes[2];

	(void)state;
	set_up_warm(&fixture, 1, 600000 * MS);
	begin_in_line(&fixture, codes, 2, outcomes);
	struct warm_pool *pool = pool_of(&fixture, "alice");
	while ((!warm_pool_ready(pool) || pool->warm->ended_count) && clock_now_ns() < end) {
		warm_step(pool->warm, 1);
	}
	assert_int_equal(warm_pool_ready(pool), 1);
	finish(&fixture, &outcomes[1]);
	assert_false(started(&outcomes[1], "cold"));
	engine_cancel(outcomes[0].run);
	finish(&fixture, &outcomes[0]);
	drop(&outcomes[0]);
	drop(&outcomes[1]);
	teardown(&fixture);
}

static void listen_to(struct warm_pool *pool, int fd, bool *readable, bool on)
{
	struct epoll_event want = { .events = EPOLLIN, .data = { .ptr = readable } };

	*readable = on;
	epoll_ctl(pool->warm->epoll, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, fd, &want);
}

/*
 * Suspends or resumes the pool: nothing is heard of its cells that are being made, nor of the
 * template that makes them. The sanitizers' build has no templates.
 */
static void hold_pool(struct warm_pool *pool, bool held)
{
	if (pool->template) {
		listen_to(pool, pool->template->socket, &pool->template->readable, !held);
	}
	for (unsigned i = 0; i < pool->count; i++) {
		struct warm_cell *cell = pool->cells[i];
		if (!cell->asked && cell->run->state != RUN_HELD) {
			listen_to(pool, cell->run->epoll, &cell->readable, !held);
		}
	}
}

/*
 * The first gets bob's only cell, and the second waits for the next. It does not if the step that
 * would have begun that cell was spent on the remains of another, but not each time.
 */
static void begin_two_of_bob(struct fixture *fixture, struct heard bob[2])
{
	enum { TIMES = 20 };

	for (int time = 0; time < TIMES; time++) {
		for (int i = 0; i < 2; i++) {
			assert_int_equal(begin_code(fixture, "bob", "1", &bob[i]), 0);
		}
		if (!bob[0].run->wait && bob[1].run->wait) {
			return;
		}
		for (int i = 0; i < 2; i++) {
			finish(fixture, &bob[i]);
			drop(&bob[i]);
		}
		warm_up(fixture, "bob");
	}
	fail_msg("the second never waited");
}

/*
 * However many runs of one tenant wait, another tenant waits only for its own cell. The pool of the
 * first is suspended: so its runs wait until the others have ended, on every host.
 */
static void test_another_tenant(void **state)
{
	enum { CROWD = 24 };
	struct fixture fixture;
	struct heard crowd[CROWD], bob[2];

	(void)state;
	set_up_warm(&fixture, 1, 600000 * MS);
	warm_up(&fixture, "bob");
	warm_up(&fixture, "alice");
	for (int i = 0; i < CROWD; i++) {
		assert_int_equal(begin_code(&fixture, "alice", "1", &crowd[i]), 0);
		hold_pool(pool_of(&fixture, "alice"), true);
	}
	unsigned before = waiting(&fixture);
	assert_true(before >= CROWD / 2 && crowd[CROWD - 1].run->wait);
	begin_two_of_bob(&fixture, bob);
	for (int i = 0; i < 2; i++) {
		finish(&fixture, &bob[i]);
		assert_false(started(&bob[i], "cold"));
		drop(&bob[i]);
	}
	assert_int_equal(waiting(&fixture), before);
	assert_int_equal(crowd[CROWD - 1].ended, 0);
	hold_pool(pool_of(&fixture, "alice"), false);
	for (int i = 0; i < CROWD; i++) {
		finish(&fixture, &crowd[i]);
		drop(&crowd[i]);
	}
	teardown(&fixture);
}

/* A run that cannot begin fails, and so do those behind it; the callback may forget the others. */
static struct heard *to_forget;

static void on_fail_forget(void *user, const struct brig_error *error)
{
	on_fail(user, error);
	if (to_forget) {
		engine_forget(to_forget->run);
	}
}

static void test_failing(void **state)
{
	struct fixture fixture;
	struct heard first, wrong, behind, last;
	struct engine_call call = { .op = ENGINE_EXECUTE,
				    .tenant = "alice",
				    .end = on_end,
				    .fail = on_fail_forget,
				    .user = &wrong,
				    .run = { .language = "python", .code = "1" } };
	/* Found when it begins: files do not take part in the choice of a pool. */
	struct brig_file_in file = { .name = "../x", .data = "x", .size = 1 };

	(void)state;
	to_forget = NULL;
	set_up_warm(&fixture, 1, 10000 * MS);
	warm_up(&fixture, "alice");
	assert_int_equal(begin_code(&fixture, "alice", "1", &first), 0);
	call.run.files = &file;
	call.run.files_count = 1;
	wrong = (struct heard){ .fixture = &fixture };
	assert_int_equal(engine_start(fixture.engine, &call, &wrong.run, &wrong.error), 0);
	/* It may find a cell before its predecessor does: it must not end by itself. */
	assert_int_equal(begin_code(&fixture, "alice", "import time; time.sleep(600)", &behind), 0);
	assert_int_equal(begin_code(&fixture, "alice", "print(6)", &last), 0);
	to_forget = &behind;
	if (wrong.failed) { /* a cell was ready: none was forgotten yet */
		engine_forget(behind.run);
	}
	while (!wrong.failed) {
		run_for(&fixture, 5 * MS);
	}
	finish(&fixture, &first);
	finish(&fixture, &last);
	assert_int_equal(behind.ended + behind.failed, 0);
	assert_non_null(strstr(last.data, "6\\n"));
	drop(&first);
	drop(&last);
	teardown(&fixture);
}

/* Calls other than runs use their tenant's share of the thread, and a tenant in debt waits. */
static void test_calls_are_charged(void **state)
{
	struct fixture fixture;
	struct heard outcome = { 0 };
	struct engine_call question = { .op = ENGINE_RUNTIMES, .tenant = "mallory" };

	(void)state;
	setup(&fixture, NULL);
	assert_int_equal(call(&fixture, question, NULL), 0);
	struct share *share = shares_of(&local_of(&fixture)->shares, "mallory");
	assert_true(share->at_ns > 0 && share->credit_ns < (int64_t)SHARE_BURST_NS);
	share->credit_ns = -(int64_t)SHARE_DEBT_NS;
	share->at_ns = clock_now_ns();
	uint64_t before_ns = clock_now_ns();
	assert_int_equal(begin(&fixture, &question, &outcome), 0);
	assert_true(outcome.run->answered.at_ns >= before_ns + SHARE_MOST_NS);
	finish(&fixture, &outcome);
	free(outcome.data);
	/* Another tenant is not in debt. */
	outcome = (struct heard){ 0 };
	question = (struct engine_call){ .op = ENGINE_SESSION_LIST, .tenant = "alice" };
	assert_int_equal(begin(&fixture, &question, &outcome), 0);
	assert_true(outcome.run->answered.at_ns <= clock_now_ns());
	finish(&fixture, &outcome);
	free(outcome.data);
	teardown(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_time),
		cmocka_unit_test(test_too_late),
		cmocka_unit_test(test_ready_meanwhile),
		cmocka_unit_test(test_cancelled),
		cmocka_unit_test(test_forgotten),
		cmocka_unit_test(test_freed),
		cmocka_unit_test(test_paused),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_another_tenant),
		cmocka_unit_test(test_failing),
		cmocka_unit_test(test_calls_are_charged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
