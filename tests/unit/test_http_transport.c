/* SPDX-License-Identifier: Apache-2.0 */
/* Another transport beneath a connection: one that has to write before it can continue. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http/connection/connections.h"
#include "http/connection/exchange.h"

struct host {
	struct loop *loop;
	struct http_server *server;
	struct loop_timer timer;
	struct http_transport transport;
	int begin_says;               /* at last */
	unsigned stalls;              /* how often each function has to write first */
	unsigned begin, receive, end; /* how often they were called */
	unsigned freed, handled;
	int fd, peer;
};

static int stalled(struct host *host, unsigned calls, int otherwise)
{
	return calls <= host->stalls ? HTTP_WANTS_OUTPUT : otherwise;
}

static void *fake_open(void *user, int fd)
{
	struct host *host = user;

	host->fd = fd;
	return host;
}

static int fake_begin(void *state)
{
	struct host *host = state;

	return stalled(host, ++host->begin, host->begin_says);
}

static ssize_t fake_receive(void *state, void *data, size_t size)
{
	struct host *host = state;

	assert_true(size >= HTTP_TRANSPORT_BYTES);
	if (stalled(host, ++host->receive, 0) < 0) {
		return HTTP_WANTS_OUTPUT;
	}
	ssize_t n = recv(host->fd, data, size, MSG_DONTWAIT);
	return n < 0 ? HTTP_WANTS_INPUT : n;
}

static ssize_t fake_send(void *state, const struct iovec *parts, size_t count)
{
	struct host *host = state;

	return writev(host->fd, parts, (int)count);
}

static int fake_end(void *state)
{
	struct host *host = state;

	return stalled(host, ++host->end, 0);
}

static void fake_free(void *state)
{
	struct host *host = state;

	host->freed++;
}

static void handle(void *user, struct http_exchange *exchange)
{
	struct host *host = user;

	host->handled++;
	http_respond(exchange, 200, "text/plain", "hi", 2);
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

/* Both ends of a TCP connection: a local one would be in clear. */
static void connect_both(int *ret_server, int *ret_client)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	*ret_client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(*ret_client, (struct sockaddr *)&address, size), 0);
	*ret_server = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	assert_true(*ret_server >= 0);
	close(listener);
}

static void begin(struct host *host)
{
	struct http_server_options options = { .handle = handle,
					       .tcp = &host->transport,
					       .user = host };
	int fd;

	host->transport = (struct http_transport){ fake_open, fake_begin, fake_receive, fake_send,
						   fake_end,  fake_free,  host };
	host->timer = (struct loop_timer){ .due = stop, .user = host };
	assert_int_equal(loop_new(&host->loop), 0);
	assert_int_equal(http_server_new(host->loop, &options, &host->server), 0);
	connect_both(&fd, &host->peer);
	connections_accept(host->server, fd);
}

static void ask(struct host *host)
{
	static const char text[] = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";

	assert_int_equal(write(host->peer, text, strlen(text)), strlen(text));
}

static void end(struct host *host)
{
	http_server_free(host->server);
	loop_free(host->loop);
	close(host->peer);
}

/* The start of the response, when it has arrived completely. */
static void assert_answer(struct host *host, const char *wanted)
{
	char text[4096];
	size_t size = 0;
	ssize_t n;

	while ((n = read(host->peer, text + size, sizeof(text) - size - 1)) > 0) {
		size += (size_t)n;
	}
	assert_int_equal(n, 0);
	text[size] = '\0';
	assert_memory_equal(text, wanted, strlen(wanted));
}

static void test_waits_for_output(void **state)
{
	struct host host = { .stalls = 3 };

	(void)state;
	begin(&host);
	ask(&host);
	rounds(&host, 30);
	assert_int_equal(host.begin, 4);
	assert_int_equal(host.receive, 4);
	assert_int_equal(host.end, 4);
	assert_int_equal(host.handled, 1);
	assert_answer(&host, "HTTP/1.1 200 ");
	end(&host);
	assert_int_equal(host.freed, 1);
}

/* Received data does not wake it repeatedly while it waits to write. */
static void test_does_not_spin(void **state)
{
	static char much[1 << 16];
	struct host host = { .stalls = 1000 };

	(void)state;
	begin(&host);
	while (send(host.fd, much, sizeof(much), MSG_DONTWAIT) > 0) {
	}
	ask(&host);
	rounds(&host, 50);
	assert_int_equal(host.begin, 1);
	assert_int_equal(host.server->counts.connections, 1);
	/* Nor when the peer has finished sending. */
	shutdown(host.peer, SHUT_WR);
	rounds(&host, 5);
	assert_int_equal(host.begin, 1);
	assert_int_equal(host.server->counts.connections, 0);
	assert_int_equal(host.freed, 1);
	end(&host);
}

static void test_failed_beginning(void **state)
{
	struct host host = { .begin_says = -EPROTO };

	(void)state;
	begin(&host);
	ask(&host);
	rounds(&host, 5);
	assert_int_equal(host.handled, 0);
	assert_int_equal(host.server->counts.malformed, 1);
	assert_answer(&host, "");
	end(&host);
	assert_int_equal(host.freed, 1);
}

static void test_peer_in_clear(void **state)
{
	struct host host = { .begin_says = -EPROTOTYPE };

	(void)state;
	begin(&host);
	ask(&host);
	rounds(&host, 5);
	assert_int_equal(host.handled, 0);
	assert_int_equal(host.receive, 0);
	assert_int_equal(host.freed, 1);
	assert_answer(&host, "HTTP/1.1 400 ");
	end(&host);
	assert_int_equal(host.freed, 1);
}

/* A drain does not wait for clients that have not begun. */
static void test_drain(void **state)
{
	struct host host = { .begin_says = HTTP_WANTS_INPUT };

	(void)state;
	begin(&host);
	rounds(&host, 2);
	http_server_drain(host.server, stop, &host);
	assert_int_equal(host.server->counts.connections, 0);
	end(&host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waits_for_output),
		cmocka_unit_test(test_does_not_spin),
		cmocka_unit_test(test_failed_beginning),
		cmocka_unit_test(test_peer_in_clear),
		cmocka_unit_test(test_drain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
