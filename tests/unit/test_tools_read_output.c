/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of a kept output: a position far behind is found by turns, and only once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
/* cmocka needs the headers above first. */
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "mcp/mcp_internal.h"
#include "tools/tools_internal.h"

#define ID    "01ARZ3NDEKTSV4RRFFQ69G5FAV"
#define LINES 700000u /* "ab\n" each */
#define SLICE 262144u /* the most that one turn may skip */
#define CALLS 20u

struct world {
	struct mcp_channel channel;
	struct loop *loop;
	struct tools *tools;
	struct mcp_server *server;
	struct mcp_peer peer;
	struct loop_timer turn;
	unsigned turns, answers, empty, asked;
	unsigned turns_at[CALLS]; /* of the answers */
	char text[96];            /* of the last */
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
	const json_t *result = json_object_get(message, "result");
	const char *text =
		tools_text(json_array_get(json_object_get(result, "content"), 0), "text");

	(void)status;
	world->text[0] = '\0';
	(void)strncat(world->text, text ? text : "", sizeof(world->text) - 1);
	world->empty += !message;
	world->turns_at[world->answers++] = world->turns;
	if (world->answers == world->asked) {
		loop_stop(world->loop);
	}
}

static const struct mcp_channel_class class = { .send = ignore_send, .answer = note_answer };

/* Another task, which has work in every round. */
static void next_turn(void *user)
{
	struct world *world = user;

	world->turns++;
	assert_true(world->turns < 10000);
	loop_timer_set(world->loop, &world->turn, 0);
}

static struct block *make_result(void)
{
	struct outcome outcome;
	struct buf json = { 0 }, all = { 0 };

	outcome_init(&outcome);
	buf_adds(&json, "{\"stdout\":");
	outcome.parts[OUTCOME_STDOUT].at = json.size;
	buf_addc(&json, '"');
	for (unsigned i = 0; i < LINES; i++) {
		buf_adds(&json, "ab\\n");
	}
	buf_addc(&json, '"');
	outcome.parts[OUTCOME_STDOUT].size = json.size - outcome.parts[OUTCOME_STDOUT].at;
	buf_addc(&json, '}');
	outcome.json_size = json.size;
	outcome.bytes[0] = 3 * LINES;
	buf_add(&all, &outcome, sizeof(outcome));
	buf_add(&all, json.data, json.size);
	buf_done(&json);
	assert_false(all.failed);
	return block_adopt(all.data, all.size);
}

static int world_new(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	struct block *result = make_result();

	assert_non_null(result);
	world->channel.class = &class;
	assert_int_equal(loop_new(&world->loop), 0);
	assert_int_equal(tools_new(world->loop, NULL, NULL, &world->tools, NULL), 0);
	assert_int_equal(mcp_server_new(world->loop, tools_provider(world->tools), NULL,
					&world->server, NULL),
			 0);
	assert_int_equal(mcp_peer_init(&world->peer, world->server, "me"), 0);
	world->peer.version = "2025-11-25";
	kept_outputs_add(world->tools->kept, "me", ID, result);
	block_unref(result);
	world->turn = (struct loop_timer){ .due = next_turn, .user = world };
	loop_timer_set(world->loop, &world->turn, 0);
	*state = world;
	return 0;
}

static int world_free(void **state)
{
	struct world *world = *state;

	mcp_peer_done(&world->peer);
	mcp_server_free(world->server);
	tools_free(world->tools);
	loop_free(world->loop);
	free(world);
	return 0;
}

static void ask(struct world *world, size_t offset)
{
	json_t *message = json_pack("{s:s, s:i, s:s, s:{s:s, s:{s:s, s:I, s:i}}}", "jsonrpc", "2.0",
				    "id", (int)++world->asked, "method", "tools/call", "params",
				    "name", "read_output", "arguments", "execution_id", ID,
				    "offset", (json_int_t)offset, "limit", 4);

	assert_non_null(message);
	assert_true(mcp_peer_receive(&world->peer, message, &world->channel));
	json_decref(message);
}

static void test_far_behind(void **state)
{
	struct world *world = *state;

	ask(world, 3 * LINES - 6);
	assert_int_equal(world->answers, 0);
	assert_int_equal(loop_run(world->loop), 0);
	assert_string_equal(world->text, "ab\na");
	/* Other work of the loop was done in between. */
	assert_true(world->turns >= 3 * LINES / SLICE);
	/* The position is known now. */
	unsigned before = world->turns;
	ask(world, 3 * LINES - 5);
	assert_int_equal(loop_run(world->loop), 0);
	assert_string_equal(world->text, "b\nab");
	assert_true(world->turns <= before + 2);
}

/* As many as there are: one of them at a time. */
static void test_many(void **state)
{
	struct world *world = *state;

	for (unsigned i = 0; i < CALLS; i++) {
		ask(world, i % 2 ? 1 : 3 * LINES - 3);
	}
	assert_int_equal(loop_run(world->loop), 0);
	assert_int_equal(world->answers, CALLS);
	for (unsigned i = 1; i < CALLS; i++) {
		assert_true(world->turns_at[i] > world->turns_at[i - 1]);
	}
}

static void test_behind_the_end(void **state)
{
	struct world *world = *state;

	ask(world, (size_t)3 * LINES);
	ask(world, SIZE_MAX / 4);
	assert_int_equal(loop_run(world->loop), 0);
	assert_string_equal(world->text, "");
	assert_int_equal(world->answers, 2);
	assert_int_equal(world->empty, 0);
}

static void test_cancelled(void **state)
{
	struct world *world = *state;
	json_t *cancel = json_pack("{s:s, s:s, s:{s:i}}", "jsonrpc", "2.0", "method",
				   "notifications/cancelled", "params", "requestId", 1);

	ask(world, 3 * LINES - 6);
	ask(world, 0);
	mcp_peer_receive(&world->peer, cancel, &world->channel);
	json_decref(cancel);
	assert_int_equal(loop_run(world->loop), 0);
	assert_int_equal(world->answers, 2);
	assert_int_equal(world->empty, 1);
	assert_string_equal(world->text, "ab\na");
	ask(world, 3 * LINES - 6); /* it still waits when all is freed */
}

/* The name is repeated where there is no such output: it has a limit. */
static void test_long_name(void **state)
{
	struct world *world = *state;
	_cleanup_free_ char *name = NULL;

	for (int size = 4096; size <= 4097; size++) {
		free(name);
		assert_true(asprintf(&name, "%*s", size, "") == size);
		json_t *message =
			json_pack("{s:s, s:i, s:s, s:{s:s, s:{s:s, s:s}}}", "jsonrpc", "2.0", "id",
				  (int)++world->asked, "method", "tools/call", "params", "name",
				  "read_output", "arguments", "execution_id", ID, "name", name);
		mcp_peer_receive(&world->peer, message, &world->channel);
		json_decref(message);
		if (size == 4096) {
			assert_int_equal(loop_run(world->loop), 0);
			assert_non_null(strstr(world->text, "has no output of the name"));
		}
	}
	assert_int_equal(world->answers, 2);
	assert_non_null(strstr(world->text, "argument \"name\" must have at most 4096"));
}

/* Every place is the same, however the stream came there. */
static void test_same_places(void **state)
{
	struct world *world = *state;
	struct kept_output *kept = kept_outputs_find(world->tools->kept, "me", ID);
	struct outcome outcome;
	const char *json;

	assert_int_equal(outcome_read(kept->result->data, kept->result->size, &outcome, &json), 0);
	for (size_t offset = 3 * LINES - 1; offset > 7919; offset -= 7919) {
		struct outcome_stream plain, stream;
		int r;

		outcome_stream_open(&outcome, json, 0, &plain);
		(void)outcome_stream_skip(&plain, offset);
		do {
			outcome_stream_open(&outcome, json, 0, &stream);
			r = output_positions_seek(&kept->positions[0], &stream, offset);
		} while (r == 0);
		assert_int_equal(r, 1);
		assert_ptr_equal(stream.at, plain.at);
		assert_int_equal(stream.offset, offset);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_far_behind, world_new, world_free),
		cmocka_unit_test_setup_teardown(test_many, world_new, world_free),
		cmocka_unit_test_setup_teardown(test_behind_the_end, world_new, world_free),
		cmocka_unit_test_setup_teardown(test_cancelled, world_new, world_free),
		cmocka_unit_test_setup_teardown(test_long_name, world_new, world_free),
		cmocka_unit_test_setup_teardown(test_same_places, world_new, world_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
