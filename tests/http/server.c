/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server for the tests of the HTTP layer: a few paths with the behaviour that tests need.
 *
 * usage: server SOCKET|PORT [LIMIT=NUMBER]... [tls=FILE]   prints its port (or 0), then serves
 *
 * The file for TLS has a certificate and its key.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/bytes/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "http/http.h"
#include "http_tls/endpoint.h"
#include "loop/loop.h"

struct host {
	struct loop *loop;
	struct http_server *server;
	unsigned gone, drained, working;
};

/* A response that is sent later, or in parts. */
struct job {
	struct host *host;
	struct http_exchange *exchange;
	struct loop_timer timer;
	size_t left; /* of a stream */
	bool finish;
};

static void job_end(struct job *job)
{
	loop_timer_clear(&job->timer);
	job->host->working--;
	free(job);
}

static void job_gone(void *user)
{
	struct job *job = user;

	job->host->gone++;
	job_end(job);
}

static struct job *job_new(struct host *host, struct http_exchange *exchange)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job) {
		abort();
	}
	*job = (struct job){ .host = host, .exchange = exchange };
	host->working++;
	exchange->user = job;
	exchange->gone = job_gone;
	return job;
}

/* Echoes the request and its body. */
static void echo(struct http_exchange *exchange)
{
	struct buf text = { 0 };
	const char *accept = http_header_find(exchange, "accept");

	buf_addf(&text, "%s %s %s %zu %s\n", exchange->method, exchange->path,
		 exchange->query ? exchange->query : "-", exchange->body_size,
		 accept ? accept : "-");
	if (exchange->body_size > 0) {
		buf_add(&text, exchange->body, exchange->body_size);
	}
	http_respond(exchange, 200, "text/plain", text.data, text.size);
	buf_done(&text);
}

static void handle_echo(struct host *host, struct http_exchange *exchange)
{
	(void)host;
	echo(exchange);
}

static void handle_size(struct host *host, struct http_exchange *exchange)
{
	char text[32];

	(void)host;
	snprintf(text, sizeof(text), "%zu", exchange->body_size);
	http_respond(exchange, 200, "text/plain", text, strlen(text));
}

static void answer_later(void *user)
{
	struct job *job = user;
	struct http_exchange *exchange = job->exchange;

	job_end(job);
	echo(exchange);
}

/* ?MILLISECONDS */
static void handle_later(struct host *host, struct http_exchange *exchange)
{
	struct job *job = job_new(host, exchange);
	uint64_t ms = exchange->query ? strtoull(exchange->query, NULL, 10) : 100;

	job->timer.due = answer_later;
	job->timer.user = job;
	loop_timer_set(host->loop, &job->timer, clock_now_ns() + ms * 1000000);
}

static void handle_never(struct host *host, struct http_exchange *exchange)
{
	job_new(host, exchange);
}

static void stream_on(struct job *job)
{
	static const char block[16384];
	size_t waiting = 0;

	while (job->left > 0 && waiting <= 256u * 1024) {
		size_t part = job->left < sizeof(block) ? job->left : sizeof(block);
		waiting = http_stream_write(job->exchange, block, part);
		job->left -= part;
	}
	if (job->left == 0 && job->finish) {
		struct http_exchange *exchange = job->exchange;
		job_end(job);
		http_stream_end(exchange);
	}
}

static void stream_drained(void *user)
{
	struct job *job = user;

	job->host->drained++;
	stream_on(job);
}

static void stream_later(void *user)
{
	stream_on(user);
}

/* ?BYTES */
static void handle_stream(struct host *host, struct http_exchange *exchange)
{
	struct job *job = job_new(host, exchange);

	job->left = exchange->query ? strtoull(exchange->query, NULL, 10) : 10;
	job->finish = true;
	exchange->drained = stream_drained;
	http_stream_begin(exchange, 200, "application/octet-stream");
	job->timer.due = stream_later;
	job->timer.user = job;
	loop_timer_set(host->loop, &job->timer, 0);
}

/* One event, and then silence. */
static void handle_events(struct host *host, struct http_exchange *exchange)
{
	job_new(host, exchange);
	http_stream_begin(exchange, 200, "text/event-stream");
	http_stream_write(exchange, "data: 1\n\n", 9);
}

/* ?BYTES */
static void handle_big(struct host *host, struct http_exchange *exchange)
{
	size_t size = exchange->query ? strtoull(exchange->query, NULL, 10) : 0;
	_cleanup_free_ char *body = calloc(size + 1, 1);

	(void)host;
	http_respond(exchange, 200, "application/octet-stream", body, size);
}

static void handle_split(struct host *host, struct http_exchange *exchange)
{
	int a = http_answer_header(exchange, "X-A", "1\r\nX-Evil: 1");
	int b = http_answer_header(exchange, "X-B: 1\r\nX-Evil", "1");
	int c = http_answer_header(exchange, "Content-Length", "0");
	int d = http_answer_header(exchange, "X-Good", "caf\xc3\xa9");

	(void)host;
	http_respond(exchange, a == -EINVAL && b == -EINVAL && c == -EINVAL && d == 0 ? 200 : 500,
		     "text/plain\r\nX-Evil: 1", "x", 1);
}

static void handle_empty(struct host *host, struct http_exchange *exchange)
{
	(void)host;
	http_respond(exchange, 204, NULL, "ignored", 7);
}

static void handle_counts(struct host *host, struct http_exchange *exchange)
{
	struct http_counts c;
	char text[512];

	http_server_counts(host->server, &c);
	snprintf(text, sizeof(text),
		 "{\"pid\": %d, \"gone\": %u, \"drained\": %u, \"working\": %u, "
		 "\"connections\": %llu, \"accepted\": %llu, \"requests\": %llu, "
		 "\"malformed\": %llu, \"timed_out\": %llu}\n",
		 (int)getpid(), host->gone, host->drained, host->working,
		 (unsigned long long)c.connections, (unsigned long long)c.accepted,
		 (unsigned long long)c.requests, (unsigned long long)c.malformed,
		 (unsigned long long)c.timed_out);
	http_respond(exchange, 200, "application/json", text, strlen(text));
}

static void drained(void *user)
{
	struct host *host = user;

	loop_stop(host->loop);
}

static void handle_drain(struct host *host, struct http_exchange *exchange)
{
	http_server_drain(host->server, drained, host);
	http_respond(exchange, 200, "text/plain", "draining\n", 9);
}

static const struct {
	const char *path;
	void (*handle)(struct host *host, struct http_exchange *exchange);
} paths[] = {
	{ "/size", handle_size },     { "/later", handle_later },   { "/never", handle_never },
	{ "/stream", handle_stream }, { "/events", handle_events }, { "/big", handle_big },
	{ "/split", handle_split },   { "/empty", handle_empty },   { "/counts", handle_counts },
	{ "/drain", handle_drain },   { NULL, handle_echo },
};

static void handle(void *user, struct http_exchange *exchange)
{
	size_t i = 0;

	while (paths[i].path && strcmp(paths[i].path, exchange->path) != 0) {
		i++;
	}
	paths[i].handle(user, exchange);
}

static int admit(void *user, struct http_exchange *exchange, size_t *ret_limit)
{
	(void)user;
	if (strcmp(exchange->path, "/private") == 0) {
		http_answer_header(exchange, "WWW-Authenticate", "Bearer");
		return 401;
	}
	if (strcmp(exchange->path, "/own") == 0) {
		http_respond(exchange, 403, "text/plain", "own words", 9);
	}
	if (strcmp(exchange->path, "/small") == 0) {
		*ret_limit = 10;
	}
	return 0;
}

static char *problem(void *user, int status, const char *why)
{
	char *text = NULL;

	(void)user;
	return asprintf(&text, "{\"status\": %d, \"detail\": \"refused\"}\n", status) < 0 || !why
		       ? NULL
		       : text;
}

#define LIMIT(name)                                                                                \
	{                                                                                          \
#name, offsetof(struct http_limits, name), sizeof(((struct http_limits *)0)->name) \
	}

static const struct {
	const char *name;
	size_t offset, size;
} limits[] = {
	LIMIT(head_bytes),   LIMIT(headers),     LIMIT(body_bytes),
	LIMIT(bodies_bytes), LIMIT(connections), LIMIT(connections_per_peer),
	LIMIT(head_ns),      LIMIT(body_ns),     LIMIT(idle_ns),
	LIMIT(write_ns),
};

static void set_limit(struct http_limits *ret, const char *word)
{
	const char *value = strchr(word, '=');

	for (size_t i = 0; value && i < ARRAY_SIZE(limits); i++) {
		if (strncmp(limits[i].name, word, (size_t)(value - word)) == 0 &&
		    limits[i].name[value - word] == '\0') {
			uint64_t number = strtoull(value + 1, NULL, 10);
			memcpy((char *)ret + limits[i].offset, &number, limits[i].size);
			return;
		}
	}
	fprintf(stderr, "server: no such limit: %s\n", word);
	exit(2);
}

static struct endpoint *open_tls(const char *path)
{
	struct brig_error error = { 0 };
	struct endpoint *endpoint = NULL;
	static char text[65536];
	FILE *file = fopen(path, "r");
	size_t size = file ? fread(text, 1, sizeof(text), file) : 0;

	if (endpoint_new(&(struct endpoint_texts){ text, size, text, size }, &endpoint, &error) <
	    0) {
		fprintf(stderr, "server: %s\n", error.message);
		exit(2);
	}
	fclose(file);
	return endpoint;
}

static int listen_on(const char *where, unsigned *ret_port)
{
	bool local = *where == '/';
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)atoi(where)),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(in);
	int fd = socket(local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(un.sun_path, sizeof(un.sun_path), "%s", where);
	const struct sockaddr *address =
		local ? (const struct sockaddr *)&un : (const struct sockaddr *)&in;
	if (fd < 0 || bind(fd, address, local ? sizeof(un) : sizeof(in)) < 0 ||
	    listen(fd, 1024) < 0 ||
	    (!local && getsockname(fd, (struct sockaddr *)&in, &size) < 0)) {
		perror("server");
		exit(1);
	}
	*ret_port = local ? 0 : ntohs(in.sin_port);
	return fd;
}

int main(int argc, char **argv)
{
	struct host host = { 0 };
	struct http_server_options options = {
		.handle = handle, .admit = admit, .problem = problem, .user = &host
	};
	unsigned port = 0;
	struct endpoint *endpoint = NULL;

	if (argc < 2) {
		return 2;
	}
	for (int i = 2; i < argc; i++) {
		if (strncmp(argv[i], "tls=", 4) == 0) {
			endpoint = open_tls(argv[i] + 4);
			options.tcp = endpoint_transport(endpoint);
		} else {
			set_limit(&options.limits, argv[i]);
		}
	}
	int fd = listen_on(argv[1], &port);
	if (loop_new(&host.loop) < 0 || http_server_new(host.loop, &options, &host.server) < 0 ||
	    http_server_listen(host.server, fd) < 0) {
		return 1;
	}
	printf("%u\n", port);
	fflush(stdout);
	int r = loop_run(host.loop);
	http_server_free(host.server);
	endpoint_free(endpoint);
	loop_free(host.loop);
	close(fd);
	return r < 0 || host.working > 0 ? 1 : 0;
}
