/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hostile MCP client, of both protocol versions, on both transports at once: any messages in any
 * order, leaving at any moment, while calls end at any time. Every exchange is answered once at
 * most, every sent message is one line of JSON, and nothing is left.
 *
 * Input: lines, each with a letter in front that chooses the action:
 *   s  a message on the stdio-like connection
 *   p  a POST with headers that fit; P: the same in the last session; q: with headers that may not
 *   g  a GET in the last session, with the rest as Last-Event-ID
 *   d  a DELETE of the last session
 *   l  the client of the exchange with that number leaves
 *   f  a call that a tool has kept is finished; r: fails; o: makes progress and logs
 *   t  the due callbacks of the loop run
 */
#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "mcp/mcp_internal.h"
#include "test_mcp_exchange.h"

#define EXCHANGES 24
#define KEPT      32

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int holds)
{
	if (!holds) {
		abort();
	}
}

struct world {
	struct loop *loop;
	struct mcp_server *server;
	struct mcp_http *http;
	struct mcp_peer peer;
	struct mcp_channel channel;
	struct fake_exchange exchanges[EXCHANGES];
	char *bodies[EXCHANGES];
	unsigned count;
	struct mcp_call *kept[KEPT];
	unsigned kept_count;
	char session[64];
};

/* --- the tools -------------------------------------------------------------------------------- */

static void tool_keep(void *user, struct mcp_call *call, const json_t *arguments)
{
	struct world *world = user;

	(void)arguments;
	if (world->kept_count < KEPT) {
		world->kept[world->kept_count++] = call;
	} else {
		mcp_call_finish_text(call, true, "no room");
	}
}

static void tool_now(void *user, struct mcp_call *call, const json_t *arguments)
{
	char *text = json_dumps(arguments, 0);
	json_t *item = mcp_text(text, strlen(text));

	(void)user;
	free(text);
	mcp_call_release(call);
	mcp_call_finish(call, mcp_result(1, &item));
}

static void tool_ask(void *user, struct mcp_call *call, const json_t *arguments)
{
	struct mcp_question questions[] = {
		{ "a", MCP_ELICITATION, NULL },
		{ "b", MCP_ROOTS, NULL },
	};

	(void)user;
	(void)arguments;
	if (mcp_call_answer(call, "a") && mcp_call_answer(call, "b")) {
		mcp_call_finish_text(call, false, "%s",
				     mcp_call_state(call) ? mcp_call_state(call) : "");
	} else {
		questions[0].params = json_object();
		mcp_call_ask(call, questions, 2, "state");
	}
}

static void read_resource(void *user, struct mcp_call *call, const char *uri)
{
	(void)user;
	mcp_call_no_resource(call, uri);
}

static void complete(void *user, struct mcp_call *call, const json_t *ref, const char *argument,
		     const char *value)
{
	(void)user;
	(void)ref;
	(void)value;
	mcp_call_fail(call, MCP_E_INTERNAL, NULL, "%s", argument);
}

static const struct mcp_tool tools[] = {
	{ .name = "keep", .input_schema = "{\"type\":\"object\"}", .call = tool_keep },
	{ .name = "now",
	  .input_schema =
		  "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"array\",\"items\":{"
		  "\"type\":\"string\",\"maxLength\":3}},\"b\":{\"enum\":[1,\"x\"]},\"h\":{"
		  "\"type\":\"integer\",\"minimum\":2,\"x-mcp-header\":\"H\"}}}",
	  .call = tool_now },
	{ .name = "ask", .input_schema = "{\"type\":\"object\"}", .call = tool_ask },
	{ .name = "able",
	  .input_schema = "{\"type\":\"object\"}",
	  .needs = MCP_SAMPLING,
	  .call = tool_now },
};
static const struct mcp_prompt_argument prompt_arguments[] = { { "x", NULL, true } };
static const struct mcp_prompt prompts[] = {
	{ "p", NULL, NULL, prompt_arguments, 1, tool_ask },
};

/* --- the stdio-like connection ---------------------------------------------------------------- */

static bool check_send(struct mcp_channel *channel, const json_t *message, bool lossy)
{
	size_t size;
	char *text = mcp_message_text(message, &size);

	(void)channel;
	(void)lossy;
	must(text && !strpbrk(text, "\r\n"));
	free(text);
	return true;
}

static void check_answer(struct mcp_channel *channel, const json_t *message, int status)
{
	(void)status;
	if (message) {
		check_send(channel, message, false);
	}
}

static void check_answer_text(struct mcp_channel *channel, const char *text, size_t size)
{
	(void)channel;
	must(text && size == strlen(text) && text[0] == '[' && text[size - 1] == ']' &&
	     !strpbrk(text, "\r\n"));
}

static const struct mcp_channel_class check_class = { .send = check_send,
						      .answer = check_answer,
						      .answer_text = check_answer_text };

static void do_stdio(struct world *world, const char *text, size_t size)
{
	const char *why = NULL;
	json_t *root = mcp_message_load(text, size, 1u << 16, &why);

	must(!root == (why != NULL));
	if (root) {
		mcp_peer_receive(&world->peer, root, &world->channel);
		json_decref(root);
	}
}

/* --- HTTP ------------------------------------------------------------------------------------- */

static void do_http(struct world *world, const char *method, char kind, char *body)
{
	if (world->count == EXCHANGES) {
		free(body);
		return;
	}
	world->bodies[world->count] = body;
	struct fake_exchange *fake = &world->exchanges[world->count++];
	fake->exchange = (struct mcp_http_exchange){
		.class = &fake_class,
		.method = method,
		.tenant = world->count % 5 == 4 ? "other" : "fuzz",
		.body = body,
		.body_size = strlen(body),
	};
	fake_add(fake, "Host", "localhost");
	fake_add(fake, "Content-Type", "application/json");
	if (kind == 'P' || method[0] != 'P') {
		fake_add(fake, "Mcp-Session-Id", world->session);
		fake_add(fake, "Last-Event-ID", body);
	}
	if (kind == 'p') {
		/* As in the body, so that more than the mismatch is tested. */
		const char *name = strstr(body, "\"keep\"")  ? "keep"
				   : strstr(body, "\"ask\"") ? "ask"
				   : strstr(body, "\"now\"") ? "now"
							     : "p";
		bool call = strstr(body, "tools/call"), get = strstr(body, "prompts/get");
		fake_add(fake, "Mcp-Method",
			 call                                   ? "tools/call"
			 : get                                  ? "prompts/get"
			 : strstr(body, "subscriptions/listen") ? "subscriptions/listen"
								: "server/discover");
		fake_add(fake, "Mcp-Name", name);
		fake_add(fake, "Mcp-Param-H", "=?base64?NQ==?=");
		if (strstr(body, "2026-07-28")) {
			fake_add(fake, "MCP-Protocol-Version", "2026-07-28");
		}
	} else if (kind == 'q') {
		fake_add(fake, "Mcp-Method", body);
		fake_add(fake, "Origin", body);
	}
	mcp_http_handle(world->http, &fake->exchange);
	if (fake->session[0]) {
		memcpy(world->session, fake->session, sizeof(world->session));
	}
	must(fake->status == 0 || fake->status >= 200);
}

/* --- the rest --------------------------------------------------------------------------------- */

static struct mcp_call *take_kept(struct world *world, unsigned n)
{
	n %= world->kept_count;
	struct mcp_call *call = world->kept[n];
	world->kept[n] = world->kept[--world->kept_count];
	return call;
}

static void do_kept(struct world *world, char what, unsigned n)
{
	if (world->kept_count == 0) {
		return;
	}
	if (what == 'o') {
		struct mcp_call *call = world->kept[n % world->kept_count];
		mcp_call_progress(call, n, 0, "more");
		mcp_call_log(call, MCP_ERROR, "fuzz", json_object());
		mcp_call_release(call);
	} else if (what == 'f') {
		mcp_call_finish_text(take_kept(world, n), false, "done");
	} else {
		mcp_call_fail(take_kept(world, n), -1, json_null(), "failed");
	}
}

static void stop(void *user)
{
	loop_stop(user);
}

static void do_loop(struct world *world)
{
	struct loop_timer timer = { .due = stop, .user = world->loop };

	loop_timer_set(world->loop, &timer, clock_now_ns());
	must(loop_run(world->loop) == 0);
}

static void do_line(struct world *world, const char *line, size_t size)
{
	char *text = strndup(line + 1, size - 1);
	unsigned n = (unsigned)atoi(text);

	switch (line[0]) {
	case 's':
		do_stdio(world, line + 1, size - 1);
		break;
	case 'p':
	case 'P':
	case 'q':
		do_http(world, "POST", line[0], text);
		return;
	case 'g':
		do_http(world, "GET", 'g', text);
		return;
	case 'd':
		do_http(world, "DELETE", 'd', text);
		return;
	case 'l':
		if (world->count) {
			fake_leave(&world->exchanges[n % world->count]);
		}
		break;
	case 't':
		do_loop(world);
		break;
	case 'f':
	case 'r':
	case 'o':
		do_kept(world, line[0], n);
		break;
	default:
		break;
	}
	free(text);
}

static void world_done(struct world *world)
{
	for (unsigned i = 0; i < world->count; i += 2) {
		fake_leave(&world->exchanges[i]);
	}
	mcp_peer_done(&world->peer);
	for (unsigned i = 1; i < world->count; i += 2) {
		fake_leave(&world->exchanges[i]);
	}
	mcp_http_free(world->http);
	mcp_server_free(world->server);
	while (world->kept_count) {
		mcp_call_finish_text(take_kept(world, 0), false, "late");
	}
	for (unsigned i = 0; i < world->count; i++) {
		buf_done(&world->exchanges[i].text);
		free(world->bodies[i]);
	}
	loop_free(world->loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t key[MCP_SEAL_KEY] = "fuzz";
	struct world world = { .channel.class = &check_class };
	struct mcp_provider provider = {
		.name = "fuzz",
		.version = "1",
		.tools = tools,
		.tools_count = sizeof(tools) / sizeof(tools[0]),
		.prompts = prompts,
		.prompts_count = 1,
		.read = read_resource,
		.complete = complete,
		.tools_change = true,
		.resources_watch = true,
		.log = true,
		.user = &world,
	};
	struct mcp_options options = { .message_bytes = 1u << 16,
				       .calls_per_client = 4,
				       .key = key };
	struct mcp_http_options http_options = { .sessions = 3, .sessions_per_tenant = 2 };

	must(loop_new(&world.loop) == 0);
	must(mcp_server_new(world.loop, &provider, &options, &world.server, NULL) == 0);
	must(mcp_http_new(world.server, &http_options, &world.http) == 0);
	must(mcp_peer_init(&world.peer, world.server, "fuzz") == 0);
	world.peer.general = &world.channel;
	while (size > 0) {
		const uint8_t *end = memchr(data, '\n', size);
		size_t part = end ? (size_t)(end - data) : size;
		if (part > 0) {
			do_line(&world, (const char *)data, part);
		}
		data += end ? part + 1 : part;
		size -= end ? part + 1 : part;
	}
	mcp_server_changed(world.server, MCP_TOOLS);
	mcp_server_updated(world.server, NULL, "u");
	world_done(&world);
	return 0;
}
