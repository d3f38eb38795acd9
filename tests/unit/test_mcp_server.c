/* SPDX-License-Identifier: Apache-2.0 */
/* A server without a transport: what providers may offer, and the lifetime of calls. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes/buf.h"
#include "base/cleanup.h"
#include "mcp/mcp_internal.h"
#include "mcp/mcp_limits.h"

#define ANY "{\"type\":\"object\"}"
#define META(...)                                                                                  \
	"\"_meta\":{\"" META_VERSION "\":\"2026-07-28\",\"" META_CAPABILITIES "\":{" __VA_ARGS__   \
	"}}"

/* Records all sent messages. */
struct heard {
	struct mcp_channel channel;
	struct buf sent; /* messages, each with a newline */
	unsigned answers, nothing;
	int status;
};

static bool heard_send(struct mcp_channel *channel, const json_t *message, bool lossy)
{
	struct heard *heard = (struct heard *)channel;
	size_t size;
	_cleanup_free_ char *text = mcp_message_text(message, &size);

	(void)lossy;
	buf_addf(&heard->sent, "%s\n", text);
	return true;
}

static void heard_answer(struct mcp_channel *channel, const json_t *message, int status)
{
	struct heard *heard = (struct heard *)channel;

	heard->answers++;
	heard->status = status;
	if (message) {
		heard_send(channel, message, false);
	} else {
		heard->nothing++;
	}
}

static const struct mcp_channel_class heard_class = { .send = heard_send, .answer = heard_answer };

struct world {
	struct loop *loop;
	struct mcp_server *server;
	struct mcp_peer peer;
	struct heard heard;
	struct mcp_call *kept;
	unsigned cancels;
};

static void keep_call(void *user, struct mcp_call *call, const json_t *arguments)
{
	struct world *world = user;

	(void)arguments;
	world->kept = call;
}

static void note_cancel(void *user)
{
	((struct world *)user)->cancels++;
}

static void keep_cancellable(void *user, struct mcp_call *call, const json_t *arguments)
{
	keep_call(user, call, arguments);
	mcp_call_on_cancel(call, note_cancel, user);
}

static void ask_roots(void *user, struct mcp_call *call, const json_t *arguments)
{
	(void)user;
	(void)arguments;
	if (mcp_call_answer(call, "r")) {
		mcp_call_finish_text(call, false, "state %s", mcp_call_state(call));
	} else {
		mcp_call_ask(call, &(struct mcp_question){ "r", MCP_ROOTS, NULL }, 1, "kept");
	}
}

static const struct mcp_tool tools[] = {
	{ .name = "keep", .input_schema = ANY, .call = keep_call },
	{ .name = "stop", .input_schema = ANY, .call = keep_cancellable },
	{ .name = "ask", .input_schema = ANY, .call = ask_roots },
};

static void get_prompt(void *user, struct mcp_call *call, const json_t *arguments)
{
	(void)user;
	mcp_call_finish(call, json_pack("{s:O}", "got", json_object_get(arguments, "x")));
}

static const struct mcp_prompt_argument prompt_arguments[] = { { "x", NULL, true } };
static const struct mcp_prompt prompts[] = {
	{ "p", NULL, NULL, prompt_arguments, 1, get_prompt },
};

static struct mcp_provider provider = {
	.name = "unit",
	.version = "1",
	.tools = tools,
	.tools_count = ARRAY_SIZE(tools),
	.prompts = prompts,
	.prompts_count = 1,
	.tools_change = true,
};

static int world_new(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	assert_int_equal(loop_new(&world->loop), 0);
	provider.user = world;
	assert_int_equal(mcp_server_new(world->loop, &provider, NULL, &world->server, NULL), 0);
	assert_int_equal(mcp_peer_init(&world->peer, world->server, "me"), 0);
	world->heard.channel.class = &heard_class;
	*state = world;
	return 0;
}

static int world_free(void **state)
{
	struct world *world = *state;

	mcp_peer_done(&world->peer);
	mcp_server_free(world->server);
	loop_free(world->loop);
	buf_done(&world->heard.sent);
	free(world);
	return 0;
}

static void say(struct world *world, const char *text)
{
	const char *why = NULL;
	json_t *root = mcp_message_load(text, strlen(text), 1u << 20, &why);

	assert_null(why);
	mcp_peer_receive(&world->peer, root, &world->heard.channel);
	json_decref(root);
}

static const char *sent(struct world *world)
{
	return world->heard.sent.size ? world->heard.sent.data : "";
}

static void initialize(struct world *world)
{
	say(world, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
		   "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"roots\":{}}}}");
	world->heard.sent.size = 0;
	world->heard.answers = 0;
}

static void call_tool(struct world *world, const char *id, const char *name)
{
	char text[200];

	snprintf(text, sizeof(text),
		 "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/call\",\"params\":{\"name\":"
		 "\"%s\",\"_meta\":{\"progressToken\":7}}}",
		 id, name);
	say(world, text);
}

static void test_providers(void **state)
{
	static const struct mcp_tool wrong[] = {
		{ .name = "", .input_schema = ANY },
		{ .name = "no blank", .input_schema = ANY },
		{ .name = "t", .input_schema = "{" },
		{ .name = "t", .input_schema = "[]" },
		{ .name = "t", .input_schema = "{\"type\":\"string\"}" },
		{ .name = "t", .input_schema = "{\"type\":\"object\",\"type\":\"object\"}" },
		{ .name = "t", .input_schema = ANY, .output_schema = "5" },
		{ .name = "t", .input_schema = ANY, .annotations = "nul" },
		{ .name = "t" },
	};
	struct mcp_server *server;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct mcp_provider bad = {
			.name = "n", .version = "1", .tools = &wrong[i], .tools_count = 1
		};
		struct brig_error error = { 0 };
		assert_int_equal(mcp_server_new(NULL, &bad, NULL, &server, &error), -EINVAL);
		assert_true(error.message[0]);
	}
	struct mcp_provider empty = { .name = "n", .version = "1" };
	assert_int_equal(mcp_server_new(NULL, &empty, NULL, &server, NULL), 0);
	mcp_server_free(server);
}

/* Of what the client can do, only the abilities that are asked about are kept. */
static void test_capabilities_kept(void **state)
{
	static const struct {
		const char *said, *kept;
	} cases[] = {
		{ "{}", "{}" },
		{ "{\"roots\":{\"listChanged\":true},\"x\":[1,2,{\"y\":\"z\"}],\"sampling\":5}",
		  "{\"roots\":{}}" },
		{ "{\"elicitation\":{\"form\":{\"x\":1},\"url\":{}},\"sampling\":{\"y\":[]}}",
		  "{\"elicitation\":{},\"sampling\":{}}" },
		{ "{\"elicitation\":{\"url\":{}}}", "{}" },
	};
	struct world *world = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[400];

		snprintf(text, sizeof(text),
			 "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
			 "\"protocolVersion\":\"2025-06-18\",\"capabilities\":%s}}",
			 cases[i].said);
		say(world, text);
		_cleanup_free_ char *kept =
			json_dumps(world->peer.capabilities, JSON_COMPACT | JSON_SORT_KEYS);
		assert_string_equal(kept, cases[i].kept);
		mcp_peer_done(&world->peer);
		assert_int_equal(mcp_peer_init(&world->peer, world->server, "me"), 0);
	}
}

static void get_prompt_of(struct world *world, int size)
{
	_cleanup_(buf_done)
	struct buf text = { 0 };

	buf_addf(&text,
		 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"prompts/get\",\"params\":{"
		 "\"name\":\"p\",\"arguments\":{\"x\":\"%*s\"}}}",
		 size, "");
	world->heard.sent.size = 0;
	say(world, text.data);
}

/* Words of the client that an answer repeats have a limit. */
static void test_repeated_words(void **state)
{
	struct world *world = *state;
	_cleanup_(buf_done)
	struct buf text = { 0 };

	initialize(world);
	get_prompt_of(world, MCP_PROMPT_ARGUMENT_MAX);
	assert_non_null(strstr(sent(world), "\"got\":"));
	get_prompt_of(world, MCP_PROMPT_ARGUMENT_MAX + 1);
	assert_non_null(strstr(sent(world), "-32602"));
	assert_non_null(strstr(sent(world), "argument \\\"x\\\" has 65537 bytes"));
	assert_true(strlen(sent(world)) < 300);
	buf_addf(&text,
		 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{\"_meta\":{"
		 "\"" META_VERSION "\":\"%*s\",\"" META_CAPABILITIES "\":{}}}}",
		 100000, "");
	world->heard.sent.size = 0;
	say(world, text.data);
	assert_non_null(strstr(sent(world), "\"requested\":"));
	assert_true(strlen(sent(world)) < 500);
}

static void test_progress_grows(void **state)
{
	struct world *world = *state;

	initialize(world);
	call_tool(world, "1", "keep");
	mcp_call_progress(world->kept, 2, 0, NULL);
	mcp_call_progress(world->kept, 2, 0, NULL);
	mcp_call_progress(world->kept, 1, 0, NULL);
	mcp_call_progress(world->kept, 0.0 / 0.0, 0, NULL);
	mcp_call_progress(world->kept, 3, 10, "bytes \xff");
	mcp_call_finish_text(world->kept, false, "end");
	assert_string_equal(
		sent(world),
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
		"\"progressToken\":7,\"progress\":2.0}}\n"
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
		"\"progressToken\":7,\"progress\":3.0,\"total\":10.0,"
		"\"message\":\"bytes \xef\xbf\xbd\"}}\n"
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\","
		"\"text\":\"end\"}]}}\n");
}

/* A call belongs to its owner until it is ended, whatever has happened meanwhile. */
static void test_cancelled(void **state)
{
	struct world *world = *state;

	initialize(world);
	call_tool(world, "1", "stop");
	say(world, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
		   "\"requestId\":1}}");
	assert_int_equal(world->cancels, 1);
	assert_int_equal(world->heard.nothing, 1);
	assert_true(mcp_call_is_cancelled(world->kept));
	mcp_call_progress(world->kept, 1, 1, NULL);
	mcp_call_log(world->kept, MCP_ERROR, NULL, json_string("x"));
	mcp_call_fail(world->kept, MCP_E_INTERNAL, NULL, "late");
	assert_string_equal(sent(world), "");
	call_tool(world, "1", "stop");
	mcp_peer_done(&world->peer);
	assert_int_equal(world->cancels, 2);
	mcp_server_free(world->server);
	world->server = NULL;
	assert_string_equal(mcp_call_tenant(world->kept), "me");
	mcp_call_finish_text(world->kept, false, "too late");
	assert_string_equal(sent(world), "");
}

/* A question after the end is not sent. */
static void test_ask_cancelled(void **state)
{
	struct world *world = *state;

	initialize(world);
	call_tool(world, "1", "keep");
	mcp_peer_abandon(&world->peer, &world->heard.channel);
	mcp_call_ask(world->kept, &(struct mcp_question){ "k", MCP_ELICITATION, json_object() }, 1,
		     NULL);
	assert_string_equal(sent(world), "");
}

static void test_ask_legacy(void **state)
{
	struct world *world = *state;

	initialize(world);
	call_tool(world, "1", "ask");
	assert_non_null(strstr(sent(world), "\"id\":1,\"method\":\"roots/list\""));
	assert_int_equal(world->heard.answers, 0);
	say(world, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"roots\":[]}}");
	assert_int_equal(world->heard.answers, 1);
	assert_non_null(strstr(sent(world), "state kept"));
	/* Once more, and the client leaves while it is asked. */
	call_tool(world, "2", "ask");
	say(world, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
		   "\"requestId\":2}}");
	say(world, "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{\"roots\":[]}}");
	assert_int_equal(world->heard.nothing, 1);
	call_tool(world, "3", "ask");
	mcp_peer_done(&world->peer);
	assert_int_equal(world->heard.answers, 2);
}

static void test_listeners_end(void **state)
{
	struct world *world = *state;

	say(world, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"subscriptions/listen\",\"params\":{"
		   "\"notifications\":{\"toolsListChanged\":true}," META() "}}");
	world->heard.sent.size = 0;
	mcp_server_changed(world->server, MCP_PROMPTS);
	mcp_server_updated(world->server, NULL, "x:y");
	assert_int_equal(world->heard.sent.size, 0);
	mcp_server_changed(world->server, MCP_TOOLS);
	assert_non_null(strstr(sent(world), "tools/list_changed"));
	assert_int_equal(world->server->listeners, 1);
	mcp_server_drain(world->server);
	assert_int_equal(world->server->listeners, 0);
	assert_non_null(strstr(sent(world),
			       "\"id\":1,\"result\":{\"_meta\":{\"" META_SUBSCRIPTION "\":1,"));
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, world_new, world_free)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_providers), WITH_WORLD(test_capabilities_kept),
		WITH_WORLD(test_progress_grows),  WITH_WORLD(test_cancelled),
		WITH_WORLD(test_ask_cancelled),   WITH_WORLD(test_repeated_words),
		WITH_WORLD(test_ask_legacy),      WITH_WORLD(test_listeners_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
