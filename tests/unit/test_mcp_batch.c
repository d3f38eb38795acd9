/* SPDX-License-Identifier: Apache-2.0 */
/* Batches: one message in a round of the loop, whatever the client does meanwhile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* cmocka needs the headers above first. */
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "mcp/mcp_internal.h"

#define COUNT 10u

struct world {
	struct mcp_channel channel;
	struct loop *loop;
	struct mcp_server *server;
	struct mcp_peer peer;
	struct loop_timer turn;
	struct mcp_call *kept[2 * COUNT];
	unsigned turns, calls, answers;
	unsigned in_this_turn, most_in_a_turn;
	size_t answered; /* messages of the last answer */
};

static bool ignore_send(struct mcp_channel *channel, const json_t *message, bool lossy)
{
	(void)channel;
	(void)message;
	(void)lossy;
	return true;
}

static void note_answer(struct mcp_channel *channel, const json_t *message, int status)
{
	struct world *world = (struct world *)channel;

	(void)status;
	assert_null(message); /* the errors about a batch were written as they came */
	world->answers++;
	world->answered = 0;
}

static void note_text(struct mcp_channel *channel, const char *text, size_t size)
{
	struct world *world = (struct world *)channel;
	json_t *list = json_loadb(text, size, 0, NULL);

	assert_true(json_is_array(list));
	world->answers++;
	world->answered = json_array_size(list);
	json_decref(list);
}

static const struct mcp_channel_class class = { .send = ignore_send,
						.answer = note_answer,
						.answer_text = note_text };

static void count_call(struct world *world)
{
	world->calls++;
	if (++world->in_this_turn > world->most_in_a_turn) {
		world->most_in_a_turn = world->in_this_turn;
	}
}

static void finish_call(void *user, struct mcp_call *call, const json_t *arguments)
{
	(void)arguments;
	count_call(user);
	mcp_call_finish_text(call, false, "done");
}

static void keep_call(void *user, struct mcp_call *call, const json_t *arguments)
{
	struct world *world = user;

	(void)arguments;
	world->kept[world->calls] = call;
	count_call(world);
}

static const struct mcp_tool tools[] = {
	{ .name = "finish", .input_schema = "{\"type\":\"object\"}", .call = finish_call },
	{ .name = "keep", .input_schema = "{\"type\":\"object\"}", .call = keep_call },
};

static struct mcp_provider provider = {
	.name = "unit",
	.version = "1",
	.tools = tools,
	.tools_count = 2,
};

static void next_turn(void *user)
{
	struct world *world = user;

	world->in_this_turn = 0;
	if (world->turns-- == 0) {
		loop_stop(world->loop);
	} else {
		loop_timer_set(world->loop, &world->turn, 0);
	}
}

static void run_turns(struct world *world, unsigned turns)
{
	world->turns = turns;
	loop_timer_set(world->loop, &world->turn, 0);
	assert_int_equal(loop_run(world->loop), 0);
}

static int world_new(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	world->channel.class = &class;
	world->turn = (struct loop_timer){ .due = next_turn, .user = world };
	provider.user = world;
	assert_int_equal(loop_new(&world->loop), 0);
	assert_int_equal(mcp_server_new(world->loop, &provider, NULL, &world->server, NULL), 0);
	assert_int_equal(mcp_peer_init(&world->peer, world->server, "me"), 0);
	world->peer.version = "2025-03-26";
	*state = world;
	return 0;
}

static int world_free(void **state)
{
	struct world *world = *state;

	mcp_peer_done(&world->peer);
	for (unsigned i = 0; i < world->calls; i++) {
		if (world->kept[i]) {
			mcp_call_finish_text(world->kept[i], false, "late");
		}
	}
	mcp_server_free(world->server);
	loop_free(world->loop);
	free(world);
	return 0;
}

static json_t *make_call(unsigned id, const char *tool)
{
	return json_pack("{s:s, s:i, s:s, s:{s:s}}", "jsonrpc", "2.0", "id", (int)id, "method",
			 "tools/call", "params", "name", tool);
}

static json_t *make_cancel(unsigned id)
{
	return json_pack("{s:s, s:s, s:{s:i}}", "jsonrpc", "2.0", "method",
			 "notifications/cancelled", "params", "requestId", (int)id);
}

static void say(struct world *world, json_t *message, bool answered)
{
	assert_non_null(message);
	assert_int_equal(mcp_peer_receive(&world->peer, message, &world->channel), answered);
	json_decref(message);
}

/* COUNT calls with ids from `first` on, and a notification at the end. */
static void say_batch(struct world *world, unsigned first, const char *tool)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < COUNT; i++) {
		json_array_append_new(list, make_call(first + i, tool));
	}
	json_array_append_new(list, make_cancel(999));
	say(world, list, true);
}

static void test_one_in_a_turn(void **state)
{
	struct world *world = *state;

	say_batch(world, 0, "finish");
	assert_true(world->calls <= 1);
	run_turns(world, COUNT / 2);
	assert_true(world->calls <= COUNT / 2 + 2);
	assert_int_equal(world->answers, 0);
	run_turns(world, COUNT + 5);
	assert_int_equal(world->calls, COUNT);
	assert_int_equal(world->most_in_a_turn, 1);
	assert_int_equal(world->answers, 1);
	assert_int_equal(world->answered, COUNT);
	assert_int_equal(world->peer.batches, 0);
}

/* By turns: however many batches there are, each turn is one message. */
static void test_two_batches(void **state)
{
	struct world *world = *state;

	say_batch(world, 0, "finish");
	say_batch(world, 100, "finish");
	run_turns(world, 2 * COUNT + 10);
	assert_int_equal(world->calls, 2 * COUNT);
	assert_int_equal(world->most_in_a_turn, 1);
	assert_int_equal(world->answers, 2);
}

/* A call that has not begun yet is cancelled all the same, and left out of the answer. */
static void test_cancelled(void **state)
{
	struct world *world = *state;

	say_batch(world, 0, "finish");
	say(world, make_cancel(COUNT - 1), false);
	run_turns(world, COUNT + 5);
	assert_int_equal(world->calls, COUNT - 1);
	assert_int_equal(world->answers, 1);
	assert_int_equal(world->answered, COUNT - 1);
}

/* The client leaves in the middle: the calls that began are cancelled, the rest never begin. */
static void test_abandoned(void **state)
{
	struct world *world = *state;

	say_batch(world, 0, "keep");
	run_turns(world, 3);
	unsigned calls = world->calls;
	assert_true(calls > 0 && calls < COUNT);
	mcp_peer_abandon(&world->peer, &world->channel);
	run_turns(world, COUNT + 5);
	assert_int_equal(world->calls, calls);
	assert_int_equal(world->answers, 0);
	assert_int_equal(world->peer.batches, 0);
	assert_int_equal(world->peer.calls_count, 0);
	say_batch(world, 0, "finish"); /* dropped with the peer */
}

/* Nothing is left to send, and that is reported. */
static void test_all_cancelled(void **state)
{
	struct world *world = *state;

	say(world, json_pack("[o]", make_call(1, "finish")), true);
	say(world, make_cancel(1), false);
	run_turns(world, 5);
	assert_int_equal(world->calls, 0);
	assert_int_equal(world->answers, 1);
	assert_int_equal(world->answered, 0);
}

static void test_without_answers(void **state)
{
	struct world *world = *state;

	say(world, json_pack("[o]", make_cancel(1)), false);
	assert_int_equal(world->peer.batches, 0);
	assert_int_equal(world->answers, 0);
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, world_new, world_free)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORLD(test_one_in_a_turn), WITH_WORLD(test_two_batches),
		WITH_WORLD(test_cancelled),     WITH_WORLD(test_abandoned),
		WITH_WORLD(test_all_cancelled), WITH_WORLD(test_without_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
