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
#include "mcp/mcp_limits.h"

#define COUNT      10u
#define LONG_BYTES 1500000u

struct world {
	struct mcp_channel channel;
	struct loop *loop;
	struct mcp_server *server;
	struct mcp_peer peer;
	struct mcp_peer second, other; /* of the same tenant, and of another */
	struct loop_timer turn;
	struct mcp_call *kept[8 * COUNT];
	unsigned turns, calls, answers;
	int status; /* of the last answer without messages */
	unsigned in_this_turn, most_in_a_turn;
	size_t answered; /* messages of the last answer */
	size_t errors;   /* those of them that are errors */
	size_t bytes;    /* of the last answer */
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

	world->status = status;
	assert_null(message); /* what is said of a batch was written as it came */
	world->answers++;
	world->answered = 0;
}

static void note_text(struct mcp_channel *channel, const char *text, size_t size)
{
	struct world *world = (struct world *)channel;
	json_t *list = json_loadb(text, size, 0, NULL), *one;
	size_t i;

	assert_true(json_is_array(list));
	world->answers++;
	world->answered = json_array_size(list);
	world->bytes = size;
	world->errors = 0;
	json_array_foreach(list, i, one)
	{
		assert_true(json_is_integer(json_object_get(one, "id")));
		world->errors += json_object_get(one, "error") != NULL;
	}
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

static void finish_long(void *user, struct mcp_call *call, const json_t *arguments)
{
	(void)arguments;
	count_call(user);
	mcp_call_finish_text(call, false, "%*s", (int)LONG_BYTES, "");
}

static const struct mcp_tool tools[] = {
	{ .name = "finish", .input_schema = "{\"type\":\"object\"}", .call = finish_call },
	{ .name = "keep", .input_schema = "{\"type\":\"object\"}", .call = keep_call },
	{ .name = "long", .input_schema = "{\"type\":\"object\"}", .call = finish_long },
};

static struct mcp_provider provider = {
	.name = "unit",
	.version = "1",
	.tools = tools,
	.tools_count = 3,
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
	mcp_peer_done(&world->second);
	mcp_peer_done(&world->other);
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

	say(world, json_pack("[o]", make_cancel(1)), true);
	assert_int_equal(world->answers, 0);
	run_turns(world, 3);
	assert_int_equal(world->peer.batches, 0);
	assert_int_equal(world->answers, 1);
	assert_int_equal(world->answered, 0);
	assert_int_equal(world->status, 202);
}

/* Notifications, too, are one in a turn. */
static void test_cancels_in_turn(void **state)
{
	struct world *world = *state;
	json_t *list = json_array();

	for (unsigned i = 0; i < COUNT; i++) {
		say(world, make_call(i, "keep"), true);
		json_array_append_new(list, make_cancel(i));
	}
	say(world, list, true);
	assert_int_equal(world->peer.calls_count, COUNT);
	run_turns(world, COUNT / 2);
	assert_true(world->peer.calls_count >= COUNT / 2 - 2);
	run_turns(world, COUNT);
	assert_int_equal(world->peer.calls_count, 0);
	assert_int_equal(world->peer.batches, 0);
	/* One that is left goes with its client. */
	say(world, json_pack("[o]", make_cancel(1)), true);
}

/* Answers above the limit are replaced by errors with the same ids. */
static void test_long_answers(void **state)
{
	struct world *world = *state;

	say_batch(world, 0, "long");
	run_turns(world, COUNT + 5);
	assert_int_equal(world->calls, COUNT);
	assert_int_equal(world->answered, COUNT);
	assert_int_equal(world->errors, COUNT - MCP_BATCH_BYTES_MAX / LONG_BYTES);
	assert_true(world->bytes < MCP_BATCH_BYTES_MAX + COUNT * 512);
	assert_int_equal(world->peer.batch_bytes, 0);
}

/* Two long answers, and a call that keeps the batch from its end. */
static void say_held_batch(struct world *world, struct mcp_peer *peer, unsigned id)
{
	json_t *list = json_pack("[o, o, o]", make_call(id, "long"), make_call(id + 1, "long"),
				 make_call(id + 2, "keep"));

	assert_true(mcp_peer_receive(peer, list, &world->channel));
	json_decref(list);
	run_turns(world, 5);
}

static void end_kept(struct world *world, unsigned call)
{
	struct mcp_call *kept = world->kept[call];

	world->kept[call] = NULL;
	mcp_call_finish_text(kept, false, "end");
}

/* Also of all batches of a tenant, over all its clients, while they wait; others have their own. */
static void test_long_answers_of_a_tenant(void **state)
{
	struct world *world = *state;
	unsigned most = MCP_TENANT_BATCH_BYTES_MAX / (2 * LONG_BYTES);
	struct mcp_peer *second = &world->second, *other = &world->other;

	assert_int_equal(mcp_peer_init(second, world->server, "me"), 0);
	assert_int_equal(mcp_peer_init(other, world->server, "other"), 0);
	second->version = other->version = "2025-03-26";
	for (unsigned i = 0; i < most + 1; i++) {
		say_held_batch(world, i % 2 ? second : &world->peer, 10 * i);
	}
	assert_true(world->peer.batch_bytes + second->batch_bytes <
		    MCP_TENANT_BATCH_BYTES_MAX + 512);
	say_held_batch(world, other, 0);
	end_kept(world, world->calls - 1);
	assert_int_equal(world->errors, 0);
	end_kept(world, 3 * most + 2);
	assert_int_equal(world->answered, 3);
	assert_true(world->errors > 0);
	/* The end of a batch makes room. */
	end_kept(world, 2);
	assert_int_equal(world->errors, 0);
	say_held_batch(world, second, 1000);
	end_kept(world, world->calls - 1);
	assert_int_equal(world->errors, 0);
	mcp_peer_abandon(&world->peer, &world->channel);
	assert_int_equal(world->peer.batch_bytes, 0);
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, world_new, world_free)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORLD(test_one_in_a_turn),
		WITH_WORLD(test_two_batches),
		WITH_WORLD(test_cancelled),
		WITH_WORLD(test_abandoned),
		WITH_WORLD(test_all_cancelled),
		WITH_WORLD(test_without_answers),
		WITH_WORLD(test_cancels_in_turn),
		WITH_WORLD(test_long_answers),
		WITH_WORLD(test_long_answers_of_a_tenant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
