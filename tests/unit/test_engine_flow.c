/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection between front and warden when one of them stands still. Each end has a loop of its
 * own, so that a test can let one of them wait. The engine behind the warden's end is the test
 * itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "engine/engine.h"
#include "engine/remote/engine_gather.h"
#include "engine/remote/engine_messages.h"

#define STREAMS 400u  /* more windows than a queue holds */
#define ENDS    5000u /* and more ends than it holds */
#define DRIPS   20000u

struct engine_run {
	struct engine_run_head head;
	struct engine_call call;
	bool paused;
	size_t written;
};

/* The front's state of one call. */
struct heard {
	struct bench *bench;
	size_t count;
	int last; /* stream */
};

struct bench {
	struct engine toy; /* first */
	struct loop *front, *warden;
	struct engine *remote;
	struct engine_service *service;
	struct engine_run *runs[ENDS];
	struct heard heard[ENDS];
	size_t asked, started, output, ends, fails, cancelled, gone;
};

static int toy_start(struct engine *engine, const struct engine_call *call, struct engine_run **ret,
		     struct brig_error *error)
{
	struct bench *bench = (struct bench *)(void *)engine;
	struct engine_run *run = calloc(1, sizeof(*run));

	(void)error;
	run->head.engine = engine;
	run->call = *call;
	bench->runs[bench->started++ % ENDS] = run;
	*ret = run;
	return 0;
}

static void toy_cancel(struct engine_run *run)
{
	((struct bench *)(void *)run->head.engine)->cancelled++;
}

static void toy_forget(struct engine_run *run)
{
	free(run);
}

static void toy_pause(struct engine_run *run, bool paused)
{
	assert_int_not_equal(run->paused, paused);
	run->paused = paused;
}

static const struct engine_class toy_class = {
	.start = toy_start,
	.cancel = toy_cancel,
	.forget = toy_forget,
	.pause = toy_pause,
};

static void heard_output(void *user, int stream, const void *data, size_t size)
{
	struct heard *heard = user;

	for (size_t i = 0; i < size; i++) {
		assert_int_equal(((const char *)data)[i], stream == 1 ? 'o' : 'e');
		assert_int_not_equal(heard->last, stream);
		heard->last = stream;
	}
	heard->count += size;
	heard->bench->output += size;
}

static void heard_end(void *user, const char *data, size_t size)
{
	(void)data;
	(void)size;
	((struct heard *)user)->bench->ends++;
}

static void heard_fail(void *user, const struct brig_error *error)
{
	(void)error;
	((struct heard *)user)->bench->fails++;
}

static void peer_gone(void *user, const char *why)
{
	(void)why;
	((struct bench *)user)->gone++;
}

static void stop(void *user)
{
	loop_stop(user);
}

/* One round of a loop, or a few. */
static void turn(struct loop *loop)
{
	struct loop_timer timer = { .due = stop, .user = loop };

	loop_timer_set(loop, &timer, clock_now_ns());
	loop_run(loop);
	loop_timer_clear(&timer);
}

static void turn_both(struct bench *bench)
{
	turn(bench->front);
	turn(bench->warden);
}

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	int sockets[2];

	*state = bench;
	bench->toy.class = &toy_class;
	assert_int_equal(loop_new(&bench->front), 0);
	assert_int_equal(loop_new(&bench->warden), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
	assert_int_equal(
		engine_remote_new(bench->front, sockets[0], peer_gone, bench, &bench->remote), 0);
	assert_int_equal(engine_service_new(bench->warden, sockets[1], &bench->toy, peer_gone,
					    bench, &bench->service),
			 0);
	return 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	engine_free(bench->remote);
	engine_service_free(bench->service);
	loop_free(bench->front);
	loop_free(bench->warden);
	free(bench);
	return 0;
}

static int ask(struct bench *bench, bool stream, struct engine_run **ret)
{
	struct heard *heard = &bench->heard[bench->asked % ENDS];
	struct brig_error error = { 0 };
	struct engine_call call = {
		.op = ENGINE_EXECUTE,
		.tenant = "t",
		.run = { .language = "toy", .code = "x" },
		.stream = stream,
		.output = heard_output,
		.end = heard_end,
		.fail = heard_fail,
		.user = heard,
	};

	heard->bench = bench;
	int r = engine_start(bench->remote, &call, ret, &error);
	bench->asked += r == 0;
	return r;
}

static void ask_many(struct bench *bench, size_t count, bool stream)
{
	struct engine_run *run;

	while (bench->asked < count) {
		assert_int_equal(ask(bench, stream, &run), 0);
		turn_both(bench);
	}
	while (bench->started < count) {
		turn_both(bench);
	}
}

/* Writes as many single bytes as it may, alternating between both streams; at most this many. */
static size_t drip(struct engine_run *run, size_t most)
{
	size_t before = run->written;

	for (; !run->paused && run->written < most; run->written++) {
		bool out = run->written % 2 == 0;
		run->call.output(run->call.user, out ? 1 : 2, out ? "o" : "e", 1);
	}
	return run->written - before;
}

static void end(struct engine_run *run)
{
	run->call.end(run->call.user, "done", 4);
	free(run);
}

/* The front stands still: each run waits for it, none is lost, and no peer is considered dead. */
static void a_full_queue_pauses_the_runs(void **state)
{
	struct bench *bench = *state;
	size_t written = 0;

	ask_many(bench, STREAMS, true);
	for (size_t i = 0; i < STREAMS; i++) {
		written += drip(bench->runs[i], DRIPS);
		assert_true(bench->runs[i]->paused);
		assert_in_range(bench->runs[i]->written, 1,
				ENGINE_WINDOW_RECORDS * (ENGINE_PIECES_MAX + 1));
	}
	turn(bench->warden);
	assert_int_equal(bench->gone, 0);
	assert_true(written > 0 && bench->output == 0);
	for (size_t rounds = 0; bench->output < STREAMS * DRIPS; rounds++) {
		turn_both(bench);
		for (size_t i = 0; i < STREAMS; i++) {
			drip(bench->runs[i], DRIPS);
		}
		assert_in_range(rounds, 0, 100000);
	}
	for (size_t i = 0; i < STREAMS; i++) {
		assert_int_equal(bench->heard[i].count, DRIPS);
		end(bench->runs[i]);
	}
	while (bench->ends < STREAMS) {
		turn_both(bench);
	}
	assert_int_equal(bench->gone + bench->fails, 0);
}

/* Output written before the end arrives before the end, however little the front reads. */
static void nothing_is_lost_at_the_end(void **state)
{
	struct bench *bench = *state;

	ask_many(bench, STREAMS, true);
	for (size_t i = 0; i < STREAMS; i++) {
		size_t before = drip(bench->runs[i], DRIPS);
		/* As from a pipe that is read in one call. */
		bench->runs[i]->paused = false;
		bench->runs[i]->call.output(bench->runs[i]->call.user, before % 2 ? 2 : 1,
					    before % 2 ? "e" : "o", 1);
		end(bench->runs[i]);
		bench->output -= before + 1;
	}
	while (bench->ends < STREAMS) {
		turn_both(bench);
	}
	assert_int_equal(bench->output, 0);
	assert_int_equal(bench->gone + bench->fails, 0);
}

static void ends_are_never_refused(void **state)
{
	struct bench *bench = *state;
	struct engine_run *run;

	ask_many(bench, ENDS, false);
	for (size_t i = 0; i < ENDS; i++) {
		end(bench->runs[i]);
		bench->runs[i] = NULL;
	}
	turn(bench->warden);
	assert_int_equal(bench->gone, 0);
	/* While they wait no other call is accepted. */
	assert_int_equal(ask(bench, false, &run), 0);
	turn(bench->warden);
	assert_int_equal(bench->started, ENDS);
	while (bench->ends < ENDS || bench->started <= ENDS) {
		turn_both(bench);
	}
	end(bench->runs[0]);
	while (bench->ends <= ENDS) {
		turn_both(bench);
	}
	assert_int_equal(bench->gone + bench->fails, 0);
}

/* The warden stands still: new calls are refused after a while, required messages are not. */
static void a_still_warden_is_asked_no_more(void **state)
{
	struct bench *bench = *state;
	struct engine_run *first, *run;
	size_t asked = 0;

	assert_int_equal(ask(bench, false, &first), 0);
	while (bench->started < 1) {
		turn_both(bench);
	}
	while (asked < 4 * ENDS && ask(bench, false, &run) == 0) {
		engine_forget(run);
		asked++;
	}
	assert_in_range(asked, 1000, ENDS);
	for (size_t i = 0; i < 2 * ENDS; i++) {
		engine_cancel(first);
	}
	bench->started = 1;
	while (bench->cancelled == 0) {
		turn_both(bench);
	}
	assert_int_equal(bench->started, 1 + asked);
	assert_int_equal(bench->cancelled, 1);
	assert_int_equal(bench->gone + bench->fails, 0);
	assert_int_equal(ask(bench, false, &run), 0);
	while (bench->started < asked + 2) {
		turn_both(bench);
	}
	assert_int_equal(bench->cancelled, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_full_queue_pauses_the_runs, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nothing_is_lost_at_the_end, set_up, tear_down),
		cmocka_unit_test_setup_teardown(ends_are_never_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_still_warden_is_asked_no_more, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
