/* SPDX-License-Identifier: Apache-2.0 */
/* A remote engine and its service, with an engine of the test behind them, in one loop. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "engine/remote/engine_messages.h"
#include "role/message.h"

/* --- an engine controlled by the language ---------------------------------------------------- */

struct toy {
	struct engine engine;
	struct loop *loop;
	unsigned cancelled, forgotten, pauses, resumes, consents;
};

struct engine_run {
	struct engine_run_head head;
	struct engine_call call;
	struct loop_timer soon;
	char *code;
	unsigned rounds;
	bool paused;
};

static struct toy *toy_of(struct engine_run *run)
{
	return (struct toy *)(void *)run->head.engine;
}

static void toy_drop(struct engine_run *run)
{
	loop_timer_clear(&run->soon);
	free(run->code);
	free(run);
}

static void toy_due(void *user)
{
	struct engine_run *run = user;
	static char much[100000];

	if (strcmp(run->code, "flood") == 0 && run->rounds < 100) {
		if (!run->paused) {
			run->rounds++;
			memset(much, 'a', sizeof(much));
			run->call.output(run->call.user, 1, much, sizeof(much));
		}
		loop_timer_set(toy_of(run)->loop, &run->soon, clock_now_ns() + 10000);
		return;
	}
	if (strcmp(run->code, "never") == 0) {
		return;
	}
	struct brig_error error = { .code = BRIG_E_POLICY, .errnum = EPERM };
	strcpy(error.message, "not like this");
	if (strcmp(run->code, "fail") == 0) {
		(run->call.fail)(run->call.user, &error);
	} else if (strcmp(run->code, "long") == 0) {
		run->call.end(run->call.user, much, sizeof(much));
	} else {
		run->call.end(run->call.user, run->code, strlen(run->code));
	}
	toy_drop(run);
}

static int toy_start(struct engine *engine, const struct engine_call *call, struct engine_run **ret,
		     struct brig_error *error)
{
	struct toy *toy = (struct toy *)(void *)engine;

	if (strcmp(call->run.code, "refuse") == 0) {
		error->code = BRIG_E_INPUT;
		strcpy(error->message, "refused");
		return -EINVAL;
	}
	struct engine_run *run = calloc(1, sizeof(*run));
	toy->consents += call->run.consent;
	run->head.engine = engine;
	run->call = *call;
	run->code = strdup(call->run.code);
	run->soon.due = toy_due;
	run->soon.user = run;
	loop_timer_set(toy->loop, &run->soon, clock_now_ns());
	*ret = run;
	return 0;
}

static void toy_cancel(struct engine_run *run)
{
	toy_of(run)->cancelled++;
	run->call.end(run->call.user, "cancelled", 9);
	toy_drop(run);
}

static void toy_forget(struct engine_run *run)
{
	toy_of(run)->forgotten++;
	toy_drop(run);
}

static void toy_pause(struct engine_run *run, bool paused)
{
	run->paused = paused;
	*(paused ? &toy_of(run)->pauses : &toy_of(run)->resumes) += 1;
}

static const struct engine_class toy_class = {
	.start = toy_start,
	.cancel = toy_cancel,
	.forget = toy_forget,
	.pause = toy_pause,
};

/* --- both ends ------------------------------------------------------------------------------- */

struct bench {
	struct loop *loop;
	struct toy toy;
	struct engine *remote;
	struct engine_service *service;
	int sockets[2];
	unsigned ends, fails, gone, warden_gone;
	size_t output, end_size;
	char end[64];
	struct brig_error error;
	struct engine_run *slow; /* whose output is not forwarded */
};

static void bench_gone(void *user, const char *why)
{
	struct bench *bench = user;

	(void)why;
	bench->gone++;
	loop_stop(bench->loop);
}

static void warden_gone(void *user, const char *why)
{
	struct bench *bench = user;

	(void)why;
	bench->warden_gone++;
	engine_service_free(bench->service);
	bench->service = NULL;
}

static void bench_end(void *user, const char *data, size_t size)
{
	struct bench *bench = user;

	bench->ends++;
	bench->end_size = size;
	memcpy(bench->end, data, size < 63 ? size : 63);
	bench->end[size < 63 ? size : 63] = '\0';
	loop_stop(bench->loop);
}

static void bench_fail(void *user, const struct brig_error *error)
{
	struct bench *bench = user;

	bench->fails++;
	bench->error = *error;
	loop_stop(bench->loop);
}

static void bench_output(void *user, int stream, const void *data, size_t size)
{
	struct bench *bench = user;

	(void)data;
	assert_int_equal(stream, 1);
	bench->output += size;
}

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	*state = bench;
	assert_int_equal(loop_new(&bench->loop), 0);
	bench->toy.engine.class = &toy_class;
	bench->toy.loop = bench->loop;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, bench->sockets), 0);
	assert_int_equal(engine_remote_new(bench->loop, bench->sockets[0], bench_gone, bench,
					   &bench->remote),
			 0);
	assert_int_equal(engine_service_new(bench->loop, bench->sockets[1], &bench->toy.engine,
					    warden_gone, bench, &bench->service),
			 0);
	return 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	engine_free(bench->remote);
	engine_service_free(bench->service);
	loop_free(bench->loop);
	free(bench);
	return 0;
}

static struct engine_run *ask(struct bench *bench, const char *code, bool stream)
{
	struct engine_call call = {
		.op = ENGINE_EXECUTE,
		.tenant = "t",
		.run = { .language = "toy", .code = code },
		.stream = stream,
		.output = bench_output,
		.end = bench_end,
		.fail = bench_fail,
		.user = bench,
	};
	struct engine_run *run = NULL;

	assert_int_equal(engine_start(bench->remote, &call, &run, &bench->error), 0);
	return run;
}

static void stop(void *user)
{
	loop_stop(user);
}

static void spin(struct bench *bench, unsigned ms)
{
	struct loop_timer timer = { .due = stop, .user = bench->loop };

	loop_timer_set(bench->loop, &timer, clock_now_ns() + ms * 1000000ull);
	loop_run(bench->loop);
	loop_timer_clear(&timer);
}

static void answers(void **state)
{
	struct bench *bench = *state;

	ask(bench, "hello", false);
	loop_run(bench->loop);
	assert_string_equal(bench->end, "hello");
	ask(bench, "fail", false);
	loop_run(bench->loop);
	assert_int_equal(bench->error.code, BRIG_E_POLICY);
	assert_string_equal(bench->error.message, "not like this");
	ask(bench, "refuse", false);
	loop_run(bench->loop);
	assert_string_equal(bench->error.message, "refused");
	ask(bench, "long", false);
	loop_run(bench->loop);
	assert_int_equal(bench->end_size, 100000);
	assert_int_equal(bench->ends, 2);
	assert_int_equal(bench->fails, 2);
}

/* A compromised front claims that a person agrees: the claim is not accepted. */
static void consent_does_not_come_from_the_front(void **state)
{
	struct bench *bench = *state;
	struct engine_call call = {
		.op = ENGINE_EXECUTE,
		.tenant = "t",
		.run = { .language = "toy", .code = "x", .policy = "open", .consent = true },
		.end = bench_end,
		.fail = bench_fail,
		.user = bench,
	};
	struct engine_run *run = NULL;

	assert_int_equal(engine_start(bench->remote, &call, &run, &bench->error), 0);
	loop_run(bench->loop);
	assert_int_equal(bench->ends, 1);
	assert_int_equal(bench->toy.consents, 0);
}

static bool believes(void *user, const struct engine_call *call)
{
	(void)user;
	return call->proof && strcmp(call->proof, "shown") == 0 && strcmp(call->caller, "c") == 0;
}

/* With a verifier, consent is accepted if it approves, and the caller is named. */
static void consent_comes_from_who_is_believed(void **state)
{
	struct bench *bench = *state;
	static const char *const proofs[] = { NULL, "forged", "shown" };
	struct engine_call call = {
		.op = ENGINE_EXECUTE,
		.tenant = "t",
		.caller = "c",
		.run = { .language = "toy", .code = "x", .policy = "open", .consent = true },
		.end = bench_end,
		.fail = bench_fail,
		.user = bench,
	};

	engine_service_consent(bench->service, believes, NULL);
	for (unsigned i = 0; i < ARRAY_SIZE(proofs); i++) {
		struct engine_run *run = NULL;

		call.proof = proofs[i];
		assert_int_equal(engine_start(bench->remote, &call, &run, &bench->error), 0);
		loop_run(bench->loop);
		assert_int_equal(bench->toy.consents, i == 2);
	}
	/* Consent is never invented. */
	struct engine_run *run = NULL;
	call.run.consent = false;
	assert_int_equal(engine_start(bench->remote, &call, &run, &bench->error), 0);
	loop_run(bench->loop);
	assert_int_equal(bench->toy.consents, 1);
}

static void takes_long_calls(void **state)
{
	struct bench *bench = *state;
	_cleanup_free_ char *code = malloc(3u << 20);

	memset(code, 'c', (3u << 20) - 1);
	code[(3u << 20) - 1] = '\0';
	ask(bench, code, false);
	loop_run(bench->loop);
	assert_int_equal(bench->end_size, (3u << 20) - 1);
}

static void holds_back_for_a_slow_reader(void **state)
{
	struct bench *bench = *state;
	struct engine_run *run = ask(bench, "flood", true);

	engine_pause(run, true);
	spin(bench, 100);
	assert_true(bench->output > 0 && bench->output <= 2 * ENGINE_WINDOW);
	assert_int_equal(bench->toy.pauses, 1);
	assert_int_equal(bench->ends, 0);
	engine_pause(run, false);
	loop_run(bench->loop);
	assert_int_equal(bench->ends, 1);
	assert_int_equal(bench->output, 10000000);
	assert_true(bench->toy.resumes >= 1);
}

static void cancels_and_forgets(void **state)
{
	struct bench *bench = *state;
	struct engine_run *run = ask(bench, "never", false);

	spin(bench, 10);
	engine_cancel(run);
	loop_run(bench->loop);
	assert_string_equal(bench->end, "cancelled");
	engine_forget(ask(bench, "never", false));
	spin(bench, 10);
	assert_int_equal(bench->toy.forgotten, 1);
	assert_int_equal(bench->ends, 1);
	/* Forgotten while its end is on the way: no error. */
	run = ask(bench, "quick", false);
	engine_forget(run);
	spin(bench, 10);
	assert_int_equal(bench->ends, 1);
	assert_int_equal(bench->gone + bench->warden_gone, 0);
}

/*
 * The outcome of its calls is unknown: nothing is reported about them, and they can be forgotten.
 */
static void a_dead_warden_answers_nothing(void **state)
{
	struct bench *bench = *state;
	struct engine_run *first = ask(bench, "never", false);

	ask(bench, "never", false);
	spin(bench, 10);
	engine_service_free(bench->service);
	bench->service = NULL;
	loop_run(bench->loop);
	assert_int_equal(bench->ends + bench->fails, 0);
	assert_int_equal(bench->gone, 1);
	assert_int_equal(bench->toy.forgotten, 2);
	engine_cancel(first);
	engine_forget(first);
	struct engine_call call = { .op = ENGINE_STATS, .tenant = "t" };
	struct engine_run *run;
	assert_int_equal(engine_start(bench->remote, &call, &run, NULL), 0);
	spin(bench, 10);
	assert_int_equal(bench->ends + bench->fails, 0);
}

/* --- hostile peers --------------------------------------------------------------------------- */

struct lie {
	struct message message;
	const char *tail;
	size_t tail_size;
};

/* Each is sent to a service of its own, which must drop the peer, and nothing else. */
static void a_lying_front_is_left(void **state)
{
	static const struct lie lies[] = {
		{ { .kind = 0 }, NULL, 0 },
		{ { .kind = 99, .serial = 1 }, NULL, 0 },
		{ { .kind = ENGINE_MESSAGE_END, .serial = 1 }, NULL, 0 },
		{ { .kind = ENGINE_MESSAGE_CALL, .serial = 1 }, "garbage", 7 },
		{ { .kind = ENGINE_MESSAGE_CALL, .serial = 1 }, NULL, 0 },
		{ { .kind = ENGINE_MESSAGE_CALL, .serial = 2 }, NULL, 0 },
		{ { .kind = ENGINE_MESSAGE_CANCEL, .serial = 1 }, NULL, 0 },
		{ { .kind = ENGINE_MESSAGE_CONSUMED, .serial = 1, .number = 1 }, NULL, 0 },
		{ { .kind = ENGINE_MESSAGE_FORGET, .serial = 7 }, NULL, 0 },
		{ { .kind = ENGINE_MESSAGE_CANCEL, .serial = 1 }, "tail", 4 },
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		struct bench bench = { .toy.engine.class = &toy_class };
		assert_int_equal(loop_new(&bench.loop), 0);
		bench.toy.loop = bench.loop;
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, bench.sockets), 0);
		assert_int_equal(engine_service_new(bench.loop, bench.sockets[1], &bench.toy.engine,
						    warden_gone, &bench, &bench.service),
				 0);
		char record[64];
		memcpy(record, &lies[i].message, sizeof(struct message));
		if (lies[i].tail) {
			memcpy(record + sizeof(struct message), lies[i].tail, lies[i].tail_size);
		}
		size_t size = i == 0 ? 3 : sizeof(struct message) + lies[i].tail_size;
		assert_int_equal(send(bench.sockets[0], record, size, 0), (ssize_t)size);
		spin(&bench, 5);
		assert_int_equal(bench.warden_gone, 1);
		assert_null(bench.service);
		close(bench.sockets[0]);
		loop_free(bench.loop);
	}
}

static void a_lying_warden_is_left(void **state)
{
	static const struct lie lies[] = {
		{ { .kind = ENGINE_MESSAGE_END, .serial = 2 }, "x", 1 },
		{ { .kind = ENGINE_MESSAGE_OUTPUT, .serial = 1 }, "x", 1 },
		{ { .kind = ENGINE_MESSAGE_OUTPUT, .serial = 1 }, NULL, 0 },
		{ { .kind = ENGINE_MESSAGE_OUTPUT, .serial = 1 }, "\3\0\1\0x", 5 },
		{ { .kind = ENGINE_MESSAGE_OUTPUT, .serial = 1 }, "\1\0\0\0", 4 },
		{ { .kind = ENGINE_MESSAGE_OUTPUT, .serial = 1 }, "\1\0\2\0x", 5 },
		{ { .kind = ENGINE_MESSAGE_OUTPUT, .serial = 1 }, "\1\0\1\0xy", 6 },
		{ { .kind = ENGINE_MESSAGE_FAIL, .serial = 1 }, "short", 5 },
		{ { .kind = ENGINE_MESSAGE_CALL, .serial = 1 }, "x", 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		struct bench bench = { 0 };
		assert_int_equal(loop_new(&bench.loop), 0);
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, bench.sockets), 0);
		assert_int_equal(engine_remote_new(bench.loop, bench.sockets[0], bench_gone, &bench,
						   &bench.remote),
				 0);
		ask(&bench, "x", true);
		char record[64];
		memcpy(record, &lies[i].message, sizeof(struct message));
		memcpy(record + sizeof(struct message), lies[i].tail ? lies[i].tail : "",
		       lies[i].tail_size);
		size_t size = sizeof(struct message) + lies[i].tail_size;
		assert_int_equal(send(bench.sockets[1], record, size, 0), (ssize_t)size);
		spin(&bench, 5);
		spin(&bench, 5);
		assert_int_equal(bench.gone, 1);
		assert_int_equal(bench.fails, 0);
		engine_free(bench.remote);
		close(bench.sockets[1]);
		loop_free(bench.loop);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(answers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(consent_comes_from_who_is_believed, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(consent_does_not_come_from_the_front, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(takes_long_calls, set_up, tear_down),
		cmocka_unit_test_setup_teardown(holds_back_for_a_slow_reader, set_up, tear_down),
		cmocka_unit_test_setup_teardown(cancels_and_forgets, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_dead_warden_answers_nothing, set_up, tear_down),
		cmocka_unit_test(a_lying_front_is_left),
		cmocka_unit_test(a_lying_warden_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
