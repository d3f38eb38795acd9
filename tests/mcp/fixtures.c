/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server of fixtures on brig's MCP layer. usage: fixtures [--port N] (none: on stdio)
 *
 * Over HTTP the tenant is the NAME of "Authorization: Bearer NAME", else "nobody". Prints the port.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fixtures.h"
#include "http/http.h"
#include "mcp/transport/mcp_http.h"
#include "mcp/transport/mcp_stdio.h"

static void must(int r, const char *what)
{
	if (r < 0) {
		fprintf(stderr, "fixtures: %s: %s\n", what, strerror(-r));
		exit(1);
	}
}

/* --- http.h's exchanges as mcp_http.h has them ------------------------------------------------ */

struct wrapped {
	struct mcp_http_exchange exchange;
	struct http_exchange *http;
};

static struct http_exchange *http_of(struct mcp_http_exchange *exchange)
{
	return ((struct wrapped *)exchange)->http;
}

static const char *wrapped_header(struct mcp_http_exchange *exchange, const char *name)
{
	return http_header_find(http_of(exchange), name);
}

static void wrapped_answer_header(struct mcp_http_exchange *exchange, const char *name,
				  const char *value)
{
	http_answer_header(http_of(exchange), name, value);
}

static void wrapped_respond(struct mcp_http_exchange *exchange, int status,
			    const char *content_type, const void *body, size_t size)
{
	struct http_exchange *http = http_of(exchange);

	http->gone = NULL;
	http->drained = NULL;
	free(exchange);
	http_respond(http, status, content_type, body, size);
}

static void wrapped_begin(struct mcp_http_exchange *exchange, int status, const char *content_type)
{
	http_stream_begin(http_of(exchange), status, content_type);
}

static size_t wrapped_write(struct mcp_http_exchange *exchange, const void *data, size_t size)
{
	return http_stream_write(http_of(exchange), data, size);
}

static void wrapped_end(struct mcp_http_exchange *exchange)
{
	struct http_exchange *http = http_of(exchange);

	http->gone = NULL;
	http->drained = NULL;
	free(exchange);
	http_stream_end(http);
}

static const struct mcp_http_class wrapped_class = {
	.header = wrapped_header,
	.answer_header = wrapped_answer_header,
	.respond = wrapped_respond,
	.stream_begin = wrapped_begin,
	.stream_write = wrapped_write,
	.stream_end = wrapped_end,
};

static void wrapped_gone(void *user)
{
	struct mcp_http_exchange *exchange = user;

	if (exchange->gone) {
		exchange->gone(exchange);
	}
	free(exchange);
}

static void wrapped_drained(void *user)
{
	struct mcp_http_exchange *exchange = user;

	if (exchange->drained) {
		exchange->drained(exchange);
	}
}

static void handle(void *user, struct http_exchange *http)
{
	const char *token = http_header_find(http, "Authorization");
	struct wrapped *wrapped = calloc(1, sizeof(*wrapped));

	if (!wrapped || strcmp(http->path, "/mcp") != 0) {
		free(wrapped);
		http_respond(http, 404, NULL, NULL, 0);
		return;
	}
	wrapped->http = http;
	wrapped->exchange = (struct mcp_http_exchange){
		.class = &wrapped_class,
		.method = http->method,
		.body = http->body ? http->body : "",
		.body_size = http->body_size,
		.tenant = token && strncmp(token, "Bearer ", 7) == 0 ? token + 7 : "nobody",
		.local = http->peer.local,
	};
	http->gone = wrapped_gone;
	http->drained = wrapped_drained;
	http->user = wrapped;
	mcp_http_handle(user, &wrapped->exchange);
}

/* --- running ---------------------------------------------------------------------------------- */

static int listen_on(int port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (fd < 0 || bind(fd, (void *)&address, sizeof(address)) < 0 || listen(fd, 128) < 0 ||
	    getsockname(fd, (void *)&address, &size) < 0) {
		perror("fixtures: listen");
		exit(1);
	}
	printf("%d\n", ntohs(address.sin_port));
	fflush(stdout);
	return fd;
}

static void stop(void *user)
{
	loop_stop(user);
}

static void signalled(void *user, uint32_t events)
{
	(void)events;
	loop_stop(user);
}

/* SIGTERM ends it in good order, so that a sanitizer can report leaks. */
static struct loop_source *stop_on_signal(struct loop *loop)
{
	struct loop_source *source;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	must(loop_add(loop, signalfd(-1, &set, SFD_CLOEXEC), EPOLLIN, signalled, loop, &source),
	     "signals");
	return source;
}

int main(int argc, char **argv)
{
	struct fixtures fixtures = { 0 };
	struct brig_error error = { 0 };
	struct mcp_provider provider = {
		.name = "brig-fixtures",
		.title = "Fixtures of brig's MCP layer",
		.version = "1.0.0",
		.instructions = "Only for tests.",
		.tools = fixture_tools,
		.tools_count = fixture_tools_count,
		.resources = fixture_resources,
		.resources_count = fixture_resources_count,
		.prompts = fixture_prompts,
		.prompts_count = fixture_prompts_count,
		.read = fixture_read,
		.complete = fixture_complete,
		.tools_change = true,
		.prompts_change = true,
		.resources_watch = true,
		.log = true,
		.ttl_ms = 60000,
		.user = &fixtures,
	};

	signal(SIGPIPE, SIG_IGN);
	must(loop_new(&fixtures.loop), "loop");
	if (mcp_server_new(fixtures.loop, &provider, NULL, &fixtures.server, &error) < 0) {
		fprintf(stderr, "fixtures: %s\n", error.message);
		return 1;
	}
	if (argc > 2 && strcmp(argv[1], "--port") == 0) {
		struct mcp_http *http;
		struct http_server *listener;
		must(mcp_http_new(fixtures.server,
				  &(struct mcp_http_options){ .sessions_per_tenant = 256 }, &http),
		     "http");
		must(http_server_new(
			     fixtures.loop,
			     &(struct http_server_options){ .handle = handle, .user = http },
			     &listener),
		     "server");
		int fd = listen_on(atoi(argv[2]));
		must(http_server_listen(listener, fd), "listen");
		struct loop_source *source = stop_on_signal(fixtures.loop);
		must(loop_run(fixtures.loop), "run");
		loop_remove(source);
		http_server_free(listener);
		mcp_http_free(http);
		close(fd);
	} else {
		struct mcp_stdio *stdio;
		must(mcp_stdio_new(fixtures.server, 0, 1, "nobody", stop, fixtures.loop, &stdio),
		     "stdio");
		must(loop_run(fixtures.loop), "run");
		mcp_stdio_free(stdio);
	}
	mcp_server_free(fixtures.server);
	loop_free(fixtures.loop);
	return 0;
}
