/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges from the handler's side, on a pair of sockets: ownership, and when things are freed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/connection/connections.h"
#include "http/connection/exchange.h"

struct host {
	struct loop *loop;
	struct http_server *server;
	struct loop_timer timer;
	struct http_exchange *waiting;
	bool with_gone;
	bool respond_when_gone;
	unsigned gone, drained;
	int peer;
};

static void on_gone(void *user)
{
	struct host *host = user;

	host->gone++;
	if (host->respond_when_gone) {
		http_respond(host->waiting, 200, NULL, "x", 1);
		http_stream_write(host->waiting, "x", 1);
		http_stream_end(host->waiting);
	}
}

static void handle(void *user, struct http_exchange *exchange)
{
	struct host *host = user;

	host->waiting = exchange;
	exchange->user = host;
	exchange->gone = host->with_gone ? on_gone : NULL;
}

static void stop(void *user)
{
	struct host *host = user;

	loop_stop(host->loop);
}

static void rounds(struct host *host, unsigned count)
{
	for (; count > 0; count--) {
		assert_int_equal(loop_timer_set(host->loop, &host->timer, 0), 0);
		assert_int_equal(loop_run(host->loop), 0);
	}
}

static void begin(struct host *host)
{
	static const char text[] = "PUT /a HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi";
	struct http_server_options options = { .handle = handle, .user = host };
	int pair[2];

	host->timer.due = stop;
	host->timer.user = host;
	assert_int_equal(loop_new(&host->loop), 0);
	assert_int_equal(http_server_new(host->loop, &options, &host->server), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	connections_accept(host->server, pair[0]);
	host->peer = pair[1];
	assert_int_equal(write(host->peer, text, strlen(text)), strlen(text));
	rounds(host, 2);
	assert_non_null(host->waiting);
	assert_string_equal(host->waiting->body, "hi");
	assert_true(host->waiting->peer.local);
	assert_int_equal(host->waiting->peer.uid, geteuid());
}

static void end(struct host *host)
{
	if (host->server) {
		http_server_free(host->server);
	}
	loop_free(host->loop);
	if (host->peer >= 0) {
		close(host->peer);
	}
}

static void leave(struct host *host)
{
	close(host->peer);
	host->peer = -1;
	rounds(host, 3);
}

static void test_gone_ends_the_exchange(void **state)
{
	struct host host = { .with_gone = true, .respond_when_gone = true };

	(void)state;
	begin(&host);
	leave(&host);
	assert_int_equal(host.gone, 1);
	assert_int_equal(host.server->bodies.used, 0);
	assert_null(host.server->connections);
	end(&host);
}

static void test_without_gone_it_waits_for_its_answer(void **state)
{
	struct host host = { 0 };

	(void)state;
	begin(&host);
	leave(&host);
	assert_null(host.server->connections);
	assert_int_equal(host.server->bodies.used, 0);
	http_server_free(host.server);
	host.server = NULL;
	assert_string_equal(host.waiting->body, "hi");
	http_stream_begin(host.waiting, 200, NULL);
	assert_int_equal(http_stream_write(host.waiting, "x", 1), 0);
	http_stream_end(host.waiting);
	end(&host);
}

static void test_free_calls_gone(void **state)
{
	struct host host = { .with_gone = true };

	(void)state;
	begin(&host);
	http_stream_begin(host.waiting, 200, NULL);
	http_server_free(host.server);
	host.server = NULL;
	assert_int_equal(host.gone, 1);
	end(&host);
}

static void on_drained(void *user)
{
	struct host *host = user;

	host->drained++;
}

static void test_back_pressure(void **state)
{
	static char block[65536];
	struct host host = { .with_gone = true };
	size_t waiting = 0, got = 0;

	(void)state;
	begin(&host);
	host.waiting->drained = on_drained;
	http_stream_begin(host.waiting, 200, NULL);
	while (waiting <= 256 * 1024) {
		waiting = http_stream_write(host.waiting, block, sizeof(block));
	}
	rounds(&host, 3);
	assert_int_equal(host.drained, 0);
	for (ssize_t n; host.drained == 0; got += (size_t)n) {
		n = recv(host.peer, block, sizeof(block), MSG_DONTWAIT);
		n = n < 0 ? 0 : n;
		rounds(&host, 1);
	}
	assert_int_equal(host.drained, 1);
	/* A handler that ignores the pause loses the client, but not in the middle of a call. */
	while (waiting != SIZE_MAX) {
		waiting = http_stream_write(host.waiting, block, sizeof(block));
	}
	assert_int_equal(host.gone, 0);
	rounds(&host, 2);
	assert_int_equal(host.gone, 1);
	assert_null(host.server->connections);
	end(&host);
}

static void test_idle_is_small(void **state)
{
	struct host host = { 0 };

	(void)state;
	begin(&host);
	http_respond(host.waiting, 200, NULL, "x", 1);
	const struct http_connection *c = host.server->connections;
	assert_int_equal(c->state, CONNECTION_IDLE);
	assert_null(c->exchange);
	assert_null(c->stash);
	assert_null(c->outbox.data);
	assert_true(sizeof(*c) < 512);
	end(&host);
}

static unsigned drains;

static void on_drain(void *user)
{
	(void)user;
	drains++;
}

static void test_drain(void **state)
{
	struct host host = { 0 };

	(void)state;
	drains = 0;
	begin(&host);
	http_server_drain(host.server, on_drain, NULL);
	rounds(&host, 2);
	assert_int_equal(drains, 0);
	http_respond(host.waiting, 200, NULL, "x", 1);
	leave(&host);
	assert_int_equal(drains, 1);
	end(&host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gone_ends_the_exchange),
		cmocka_unit_test(test_without_gone_it_waits_for_its_answer),
		cmocka_unit_test(test_free_calls_gone),
		cmocka_unit_test(test_back_pressure),
		cmocka_unit_test(test_idle_is_small),
		cmocka_unit_test(test_drain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
