/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP: the first byte chooses how the rest is cut into pieces. The pieces give the same requests
 * as the whole; the reader's results match http.h; and a server with these bytes on a socket
 * answers as many requests as the reader has found, and then frees everything.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes/buf.h"
#include "base/json/json_out.h"
#include "http/connection/connections.h"
#include "http/connection/exchange.h"
#include "http/http_limits.h"
#include "http/message/method.h"
#include "http/message/request_reader.h"

#define SIZE_LIMIT   16384
#define BODY_LIMIT   4096
#define ROUNDS_LIMIT 1000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition) {
		abort();
	}
}

/* --- the reader ------------------------------------------------------------------------------ */

static void check_path(const char *path)
{
	require(path[0] == '/' && utf8_valid(path, strlen(path)));
	require(!strstr(path, "//") && !strstr(path, "/./") && !strstr(path, "/../"));
	size_t size = strlen(path);
	require(size < 2 || strcmp(path + size - 2, "/.") != 0);
	require(size < 3 || strcmp(path + size - 3, "/..") != 0);
	for (const char *at = path; *at; at++) {
		require((unsigned char)*at >= 0x20 && *at != 0x7f);
	}
}

static void check_headers(const struct headers *headers)
{
	for (size_t i = 0; i < headers->count; i++) {
		const struct http_header *header = &headers->list[i];
		size_t size = strlen(header->value);
		require(*header->name && !strpbrk(header->name, " \t\r\n:"));
		require(!strpbrk(header->value, "\r\n") && utf8_valid(header->value, size));
		require(size == 0 || (header->value[0] != ' ' && header->value[size - 1] != ' '));
		for (size_t k = i + 1; k < headers->count; k++) {
			require(strcasecmp(header->name, headers->list[k].name) != 0);
		}
	}
}

static void check_request(const struct http_reader *reader)
{
	const struct http1_framing *framing = &reader->http1.framing;

	check_path(reader->path);
	check_headers(&reader->headers);
	require(reader->http1.state == HTTP1_DONE && reader->body.size <= BODY_LIMIT);
	require(!(framing->chunked && framing->has_length));
	require(framing->chunked || reader->body.size == framing->length);
	require(strstr(method_allow, reader->method) != NULL);
	require(reader->http1.line.minor == 0 ||
		headers_find(reader->headers.list, reader->headers.count, "host") != NULL);
}

/* One line for each event. */
static void note(struct buf *notes, const struct http_reader *reader)
{
	if (reader->state == READER_REFUSED) {
		buf_addf(notes, "%d %s\n", reader->status, reader->why);
		return;
	}
	buf_addf(notes, "%s %s %s %zu\n", reader->method, reader->target, reader->path,
		 reader->headers.count);
	for (size_t i = 0; i < reader->headers.count; i++) {
		buf_addf(notes, "%s=%s\n", reader->headers.list[i].name,
			 reader->headers.list[i].value);
	}
	if (reader->body.size > 0) {
		buf_add(notes, reader->body.data, reader->body.size);
	}
}

struct tally {
	unsigned requests;
	bool refused, closed;
};

static size_t piece_size(unsigned char how, size_t at, size_t size)
{
	size_t most = how == 0 ? size : 1 + (how * 31u + at * 7u) % how;

	return most < size - at ? most : size - at;
}

static struct tally read_all(const struct http_limits *limits, const char *data, size_t size,
			     unsigned char how, struct buf *notes)
{
	struct body_pool pool = { .limit = 1 << 20 };
	struct tally tally = { 0 };
	struct http_reader reader;
	size_t at = 0;

	reader_init(&reader, limits, &pool);
	while (!tally.refused && !tally.closed) {
		if (reader.state == READER_HEAD_DONE) {
			reader_go_on(&reader, BODY_LIMIT, NULL);
		} else if (reader.state == READER_DONE) {
			check_request(&reader);
			note(notes, &reader);
			tally.requests++;
			tally.closed = !reader.http1.framing.keep_alive;
			reader_done(&reader);
			reader_init(&reader, limits, &pool);
		} else if (reader.state == READER_REFUSED) {
			note(notes, &reader);
			tally.refused = true;
		} else if (at < size) {
			/*
			 * A copy that ends where the piece ends, so that a read beyond it is
			 * detected.
			 */
			size_t part = piece_size(how, at, size);
			char *piece = malloc(part);
			require(piece != NULL);
			memcpy(piece, data + at, part);
			size_t taken = reader_feed(&reader, piece, part);
			require(taken <= part);
			require(taken == part || reader.state != READER_HEAD);
			free(piece);
			at += taken;
		} else {
			break;
		}
	}
	reader_done(&reader);
	require(pool.used == 0);
	return tally;
}

/* --- the server ------------------------------------------------------------------------------ */

struct host {
	struct loop *loop;
	struct http_server *server;
	struct loop_timer timer;
	unsigned handled;
};

static void handle(void *user, struct http_exchange *exchange)
{
	struct host *host = user;

	host->handled++;
	http_answer_header(exchange, "X-Target", exchange->path);
	if (exchange->body_size % 2) {
		http_stream_begin(exchange, 200, "text/plain");
		http_stream_write(exchange, exchange->body, exchange->body_size);
		http_stream_end(exchange);
	} else {
		http_respond(exchange, 200, "text/plain", exchange->body, exchange->body_size);
	}
}

static void stop(void *user)
{
	struct host *host = user;

	loop_stop(host->loop);
}

static struct host *host_of(const struct http_limits *limits)
{
	static struct host host;
	struct http_server_options options = { .limits = *limits, .handle = handle, .user = &host };

	if (!host.loop) {
		host.timer.due = stop;
		host.timer.user = &host;
		require(loop_new(&host.loop) == 0);
		require(http_server_new(host.loop, &options, &host.server) == 0);
	}
	host.handled = 0;
	return &host;
}

static void round_of(struct host *host)
{
	require(loop_timer_set(host->loop, &host->timer, 0) == 0);
	require(loop_run(host->loop) == 0);
}

/* The responses must not fill the socket, or the server would wait for ever. */
static void discard(int fd)
{
	char room[4096];

	while (recv(fd, room, sizeof(room), MSG_DONTWAIT) > 0) {
	}
}

static void serve_all(struct host *host, const char *data, size_t size, unsigned char how,
		      const struct tally *expected)
{
	int pair[2];

	require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
	connections_accept(host->server, pair[0]);
	for (size_t at = 0; at < size;) {
		size_t part = piece_size(how ? how | 0x40 : 0, at, size);
		ssize_t n = send(pair[1], data + at, part, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0) {
			break;
		}
		at += (size_t)n;
		round_of(host);
		discard(pair[1]);
	}
	shutdown(pair[1], SHUT_WR);
	for (unsigned i = 0; host->server->connections && i < ROUNDS_LIMIT; i++) {
		round_of(host);
		discard(pair[1]);
	}
	close(pair[1]);
	require(!host->server->connections && host->server->counts.connections == 0);
	require(host->server->bodies.used == 0 && !host->server->idle.first);
	require(!host->server->heads.first);
	require(host->handled == expected->requests);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct http_limits limits = { .head_bytes = 2048, .headers = 20, .body_bytes = BODY_LIMIT };
	struct buf whole = { 0 }, pieces = { 0 };

	if (size < 1 || size > SIZE_LIMIT) {
		return 0;
	}
	limits_complete(&limits);
	unsigned char how = data[0];
	const char *text = (const char *)data + 1;
	struct tally expected = read_all(&limits, text, size - 1, 0, &whole);
	read_all(&limits, text, size - 1, how, &pieces);
	require(whole.size == pieces.size);
	require(whole.size == 0 || memcmp(whole.data, pieces.data, whole.size) == 0);
	serve_all(host_of(&limits), text, size - 1, how, &expected);
	buf_done(&whole);
	buf_done(&pieces);
	return 0;
}
