/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP transport with exchanges of our own: ends of sessions, times, and nested requests. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "mcp/mcp_limits.h"
#include "test_mcp_exchange.h"

#define MS 1000000ull

struct world {
	struct loop *loop;
	struct mcp_server *server;
	struct mcp_http *http;
	struct mcp_call *kept[8];
	unsigned kept_count, cancels;
	struct fake_exchange exchanges[16];
	unsigned count;
	char session[64];
};

static void cancelled(void *user)
{
	((struct world *)user)->cancels++;
}

static void keep(void *user, struct mcp_call *call, const json_t *arguments)
{
	struct world *world = user;

	(void)arguments;
	mcp_call_on_cancel(call, cancelled, world);
	world->kept[world->kept_count++] = call;
}

static const struct mcp_tool tools[] = {
	{ .name = "keep", .input_schema = "{\"type\":\"object\"}", .call = keep },
};

static struct mcp_provider provider = {
	.name = "unit",
	.version = "1",
	.tools = tools,
	.tools_count = 1,
	.tools_change = true,
};

static int world_new(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	struct mcp_http_options options = {
		.sessions = 3,
		.sessions_per_tenant = 2,
		.away_ns = 20 * MS,
	};

	provider.user = world;
	assert_int_equal(loop_new(&world->loop), 0);
	assert_int_equal(mcp_server_new(world->loop, &provider, NULL, &world->server, NULL), 0);
	assert_int_equal(mcp_http_new(world->server, &options, &world->http), 0);
	*state = world;
	return 0;
}

static int world_free(void **state)
{
	struct world *world = *state;

	for (unsigned i = 0; i < world->count; i++) {
		world->exchanges[i].then = NULL;
		fake_leave(&world->exchanges[i]);
	}
	mcp_http_free(world->http);
	mcp_server_free(world->server);
	for (unsigned i = 0; i < world->kept_count; i++) {
		mcp_call_finish_text(world->kept[i], false, "late");
	}
	for (unsigned i = 0; i < world->count; i++) {
		buf_done(&world->exchanges[i].text);
	}
	loop_free(world->loop);
	free(world);
	return 0;
}

static struct fake_exchange *prepare(struct world *world, const char *method, const char *tenant,
				     const char *body)
{
	struct fake_exchange *fake = &world->exchanges[world->count++];

	fake->exchange = (struct mcp_http_exchange){
		.class = &fake_class,
		.method = method,
		.tenant = tenant,
		.body = body,
		.body_size = strlen(body),
	};
	fake_add(fake, "host", "localhost:80");
	fake_add(fake, "content-type", "application/json");
	if (world->session[0]) {
		fake_add(fake, "mcp-session-id", world->session);
	}
	return fake;
}

static struct fake_exchange *ask(struct world *world, const char *method, const char *tenant,
				 const char *body)
{
	struct fake_exchange *fake = prepare(world, method, tenant, body);

	mcp_http_handle(world->http, &fake->exchange);
	return fake;
}

#define INITIALIZE(version)                                                                        \
	"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"                     \
	"\"protocolVersion\":\"" version "\",\"capabilities\":{}}}"

static int initialize_with(struct world *world, const char *tenant, const char *request)
{
	world->session[0] = '\0';
	struct fake_exchange *fake = ask(world, "POST", tenant, request);
	snprintf(world->session, sizeof(world->session), "%s", fake->session);
	return fake->status;
}

static int initialize(struct world *world, const char *tenant)
{
	return initialize_with(world, tenant, INITIALIZE("2025-11-25"));
}

#define CALL(id)                                                                                   \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{"                \
	"\"name\":\"keep\",\"_meta\":{\"progressToken\":1}}}"
#define CANCEL                                                                                     \
	"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"                                         \
	"cancelled\",\"params\":{\"requestId\":7}}"
#define PING "{\"jsonrpc\":\"2.0\",\"id\":99,\"method\":\"ping\"}"

static void stop(void *user)
{
	loop_stop(user);
}

static void run_for(struct world *world, uint64_t ns)
{
	struct loop_timer timer = { .due = stop, .user = world->loop };

	loop_timer_set(world->loop, &timer, clock_now_ns() + ns);
	assert_int_equal(loop_run(world->loop), 0);
}

static void test_sessions_bounded(void **state)
{
	struct world *world = *state;
	char first[64];

	assert_int_equal(initialize(world, "a"), 200);
	memcpy(first, world->session, sizeof(first));
	assert_int_equal(ask(world, "POST", "a", CALL("1"))->status, 0);
	assert_int_equal(initialize(world, "a"), 200);
	/* The idle session makes room, the busy one stays. */
	assert_int_equal(initialize(world, "a"), 200);
	assert_int_equal(mcp_http_sessions(world->http), 2);
	assert_int_equal(ask(world, "POST", "a", CALL("1"))->status, 0);
	assert_int_equal(initialize(world, "a"), 503);
	assert_int_equal(initialize(world, "b"), 200);
	assert_int_equal(ask(world, "POST", "b", CALL("1"))->status, 0);
	assert_int_equal(initialize(world, "c"), 503);
	memcpy(world->session, first, sizeof(first));
	assert_int_equal(ask(world, "POST", "a", PING)->status, 200);
	run_for(world, MS);
}

/* The client leaves: before a stream has begun the call ends, afterwards it has some time. */
static void test_away(void **state)
{
	struct world *world = *state;

	initialize(world, "a");
	fake_leave(ask(world, "POST", "a", CALL("1")));
	assert_int_equal(world->cancels, 1);
	struct fake_exchange *fake = ask(world, "POST", "a", CALL("2"));
	mcp_call_progress(world->kept[1], 1, 2, NULL);
	assert_non_null(strstr(fake->text.data, "id: 3-0\nretry: 500\ndata: \n\nid: 3-1\n"));
	fake_leave(fake);
	assert_int_equal(world->cancels, 1);
	mcp_call_progress(world->kept[1], 2, 2, NULL);
	struct fake_exchange *back = prepare(world, "GET", "a", "");
	fake_add(back, "last-event-id", "3-1");
	mcp_http_handle(world->http, &back->exchange);
	assert_non_null(strstr(back->text.data, "\"progress\":2.0"));
	assert_null(strstr(back->text.data, "\"progress\":1.0"));
	fake_leave(back);
	run_for(world, 60 * MS);
	assert_int_equal(world->cancels, 2);
}

static void end_kept(struct world *world, unsigned i)
{
	struct mcp_call *call = world->kept[i];

	world->kept[i] = world->kept[--world->kept_count];
	mcp_call_finish_text(call, false, "end");
}

/* After a long request nobody comes back: its body counts only as long as its exchange. */
static void test_away_from_long_request(void **state)
{
	struct world *world = *state;
	_cleanup_(buf_done)
	struct buf request = { 0 };

	initialize(world, "a");
	buf_addf(&request, "%*s" CALL("1"), MCP_AWAY_BODY_MAX, "");
	struct fake_exchange *fake = ask(world, "POST", "a", request.data);
	mcp_call_progress(world->kept[0], 1, 2, NULL);
	assert_non_null(strstr(fake->text.data, "\"progress\":1.0"));
	assert_null(strstr(fake->text.data, "id: "));
	/* It cannot be taken over, nor sent away. */
	struct fake_exchange *back = prepare(world, "GET", "a", "");
	fake_add(back, "last-event-id", "2-0");
	mcp_http_handle(world->http, &back->exchange);
	mcp_call_release(world->kept[0]);
	assert_false(fake->ended);
	fake_leave(fake);
	assert_int_equal(world->cancels, 1);
	/* The answer of one that stays is complete. */
	fake = ask(world, "POST", "a", request.data);
	mcp_call_progress(world->kept[1], 1, 2, NULL);
	end_kept(world, 1);
	assert_true(fake->ended);
	assert_non_null(strstr(fake->text.data, "\"text\":\"end\""));
	assert_int_equal(world->cancels, 1);
}

static void delete_session(void *user)
{
	ask(user, "DELETE", "a", "");
}

/* The next request of a connection comes while the last one is being answered, and ends it all. */
static void test_pipelined_delete(void **state)
{
	struct world *world = *state;

	initialize(world, "a");
	struct fake_exchange *fake = ask(world, "POST", "a", CALL("1"));
	fake->then = delete_session;
	fake->user = world;
	struct fake_exchange *other = ask(world, "POST", "a", CALL("2"));
	end_kept(world, 0);
	assert_int_equal(fake->status, 200);
	assert_int_equal(mcp_http_sessions(world->http), 0);
	assert_int_equal(ask(world, "POST", "a", PING)->status, 404);
	run_for(world, MS);
	assert_int_equal(other->status, 404);
	assert_int_equal(world->cancels, 1);
}

static void test_pipelined_delete_of_stream(void **state)
{
	struct world *world = *state;

	initialize(world, "a");
	struct fake_exchange *fake = ask(world, "POST", "a", CALL("1"));
	mcp_call_progress(world->kept[0], 1, 2, NULL);
	fake->then = delete_session;
	fake->user = world;
	/* Also from a notification of that very session. */
	ask(world, "POST", "a",
	    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{"
	    "\"requestId\":1}}");
	assert_true(fake->ended);
	assert_int_equal(world->cancels, 1);
	run_for(world, MS);
	assert_int_equal(mcp_http_sessions(world->http), 0);
}

static void test_general_stream(void **state)
{
	struct world *world = *state;

	initialize(world, "a");
	mcp_server_changed(world->server, MCP_TOOLS); /* no listener */
	struct fake_exchange *general = ask(world, "GET", "a", "");
	mcp_server_changed(world->server, MCP_TOOLS);
	assert_non_null(strstr(general->text.data, "list_changed"));
	assert_int_equal(ask(world, "GET", "a", "")->status, 409);
	fake_leave(general);
	general = ask(world, "GET", "a", "");
	assert_int_equal(general->status, 200);
	delete_session(world);
	run_for(world, MS);
	assert_true(general->ended);
}

static void test_hosts(void **state)
{
	struct world *world = *state;
	const char *const hosts[] = { "box.example" };
	struct mcp_http_options options = { .hosts = hosts, .hosts_count = 1 };
	struct mcp_http *http;

	assert_int_equal(mcp_http_new(world->server, &options, &http), 0);
	static const struct {
		const char *host, *origin;
		bool local, good;
	} cases[] = {
		{ "box.example", NULL, false, true },
		{ "BOX.example:443", "https://box.example", false, true },
		{ "localhost", NULL, false, false },
		{ NULL, NULL, false, false },
		{ NULL, NULL, true, true },
		{ NULL, "http://evil.example", true, false },
		{ "box.example", "http://box.example.evil", false, false },
		{ "box.example:", NULL, false, true },
		{ "", NULL, false, false },
		{ "[", NULL, false, false },
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fake_exchange *fake = &world->exchanges[world->count++];
		fake->exchange = (struct mcp_http_exchange){
			.class = &fake_class,
			.method = "GET",
			.tenant = "t",
			.body = "",
			.local = cases[i].local,
		};
		if (cases[i].host) {
			fake_add(fake, "Host", cases[i].host);
		}
		if (cases[i].origin) {
			fake_add(fake, "Origin", cases[i].origin);
		}
		mcp_http_handle(http, &fake->exchange);
		assert_int_equal(fake->status, cases[i].good ? 405 : 403);
	}
	mcp_http_free(http);
}

/* Batches of one session that wait for their turns. */
static void test_batches_bounded(void **state)
{
	struct world *world = *state;
	struct fake_exchange *waiting[MCP_BATCHES_MAX];

	assert_int_equal(initialize_with(world, "a", INITIALIZE("2025-03-26")), 200);
	for (unsigned i = 0; i < MCP_BATCHES_MAX; i++) {
		waiting[i] = ask(world, "POST", "a", "[" PING "," PING "]");
		assert_int_equal(waiting[i]->status, 0);
	}
	struct fake_exchange *fake = ask(world, "POST", "a", "[" PING "]");
	assert_int_equal(fake->status, 429);
	assert_non_null(strstr(fake->text.data, "too many batches"));
	assert_int_equal(ask(world, "POST", "a", PING)->status, 200);
	run_for(world, 10 * MS);
	for (unsigned i = 0; i < MCP_BATCHES_MAX; i++) {
		assert_int_equal(waiting[i]->status, 200);
	}
	fake = ask(world, "POST", "a", "[" PING "]");
	struct fake_exchange *silent = ask(world, "POST", "a", "[" CANCEL "," CANCEL "]");
	struct fake_exchange *left = ask(world, "POST", "a", "[" CANCEL "," CANCEL "]");
	fake_leave(left);
	assert_int_equal(silent->status, 0);
	run_for(world, 10 * MS);
	assert_int_equal(fake->status, 200);
	assert_int_equal(silent->status, 202);
}

#define WITH_WORLD(test) cmocka_unit_test_setup_teardown(test, world_new, world_free)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_WORLD(test_sessions_bounded),
		WITH_WORLD(test_away),
		WITH_WORLD(test_pipelined_delete),
		WITH_WORLD(test_general_stream),
		WITH_WORLD(test_pipelined_delete_of_stream),
		WITH_WORLD(test_hosts),
		WITH_WORLD(test_batches_bounded),
		WITH_WORLD(test_away_from_long_request),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
