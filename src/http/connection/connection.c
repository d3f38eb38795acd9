/* SPDX-License-Identifier: Apache-2.0 */
/* One connection: see connection.h. */
#include "http/connection/connection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "http/connection/budget.h"
#include "http/connection/connections.h"
#include "http/connection/exchange.h"
#include "http/connection/timeouts.h"

#define HEAD_READ_BYTES 16384 /* no more, as bytes behind the head must be kept */
#define DRAINED_BYTES   (64u * 1024)
#define LINGER_BYTES    (4u * 1024 * 1024)

/* Requests are read. */
#define READING                                                                                    \
	(STATE_BIT(CONNECTION_IDLE) | STATE_BIT(CONNECTION_HEAD) | STATE_BIT(CONNECTION_BODY))
/* No client is disappointed by the end. */
#define QUIET                                                                                      \
	(STATE_BIT(CONNECTION_IDLE) | STATE_BIT(CONNECTION_ENDING) |                               \
	 STATE_BIT(CONNECTION_LINGERING) | STATE_BIT(CONNECTION_BROKEN))
/* All states that wait for the peer's bytes, or for room to answer them. */
#define LISTENING                                                                                  \
	(READING | STATE_BIT(CONNECTION_OPENING) | STATE_BIT(CONNECTION_ENDING) |                  \
	 STATE_BIT(CONNECTION_LINGERING))
/* The client waits for its answer. */
#define ANSWERING                                                                                  \
	(STATE_BIT(CONNECTION_WORKING) | STATE_BIT(CONNECTION_STREAMING) |                         \
	 STATE_BIT(CONNECTION_HELD))

static bool is_broken(const struct http_connection *c)
{
	return c->state == CONNECTION_BROKEN;
}

/* The transport must write before it can go on. */
static bool is_blocked(const struct http_connection *c)
{
	return c->socket_input == INPUT_BLOCKED || c->state == CONNECTION_ENDING;
}

/* The transport has been tried: does it have to write first? */
static void set_blocked(struct http_connection *c, bool blocked)
{
	if (blocked && c->socket_input == INPUT_CLOSED) {
		/* A peer that has left will not read the bytes that the transport has to write. */
		connection_break(c);
	} else if (blocked) {
		c->socket_input = INPUT_BLOCKED;
	} else if (c->socket_input == INPUT_BLOCKED) {
		c->socket_input = INPUT_READ;
	}
}

/* Called again until the end could be sent. */
static void linger(struct http_connection *c)
{
	int r = byte_stream_end(&c->byte_stream);

	c->input_size = 0;
	set_blocked(c, false);
	if (r == 0) {
		connection_enter(c, CONNECTION_LINGERING);
	} else if (r != HTTP_WANTS_OUTPUT) {
		connection_break(c);
	} else if (c->state != CONNECTION_ENDING) {
		connection_enter(c, CONNECTION_ENDING);
	}
}

static void open_transport(struct http_connection *c)
{
	int r = byte_stream_begin(&c->byte_stream);

	set_blocked(c, r == HTTP_WANTS_OUTPUT);
	if (r == 0) {
		connection_enter(c, CONNECTION_IDLE);
	} else if (r == -EPROTOTYPE) {
		c->server->counts.malformed++;
		byte_stream_forget(&c->byte_stream);
		connection_refuse(c, 400, "this port requires TLS: use https://");
	} else if (r != HTTP_WANTS_INPUT && r != HTTP_WANTS_OUTPUT) {
		c->server->counts.malformed++;
		linger(c);
	}
}

/* --- reading and writing --------------------------------------------------------------------- */

static void watch(struct http_connection *c)
{
	bool listens = connection_in(c, LISTENING);
	uint32_t events = 0;

	if (listens && c->socket_input == INPUT_UNREAD) {
		c->socket_input = INPUT_READ;
	}
	events |= !is_blocked(c) && (listens || c->socket_input == INPUT_READ) ? EPOLLIN : 0;
	events |= c->socket_input == INPUT_CLOSED ? 0 : EPOLLRDHUP;
	events |= outbox_waiting(&c->outbox) > 0 || is_blocked(c) ? EPOLLOUT : 0;
	if (events != c->events && loop_change(c->source, events) < 0) {
		connection_break(c);
	}
	c->events = events;
}

void connection_break(struct http_connection *c)
{
	connection_enter(c, CONNECTION_BROKEN);
	/* The caller may still use the connection: its own timer ends it. */
	if (!c->busy && loop_timer_set(c->server->loop, &c->timer, 0) < 0) {
		shutdown(c->byte_stream.fd, SHUT_RDWR);
	}
}

static void account_sent(struct http_connection *c, ssize_t sent)
{
	if (sent < 0) {
		connection_break(c);
		return;
	}
	c->server->counts.bytes_out += (size_t)sent;
	budget_recount(c);
	timeouts_taken(c, (size_t)sent);
}

void connection_send(struct http_connection *c, const struct iovec *parts, size_t count)
{
	if (is_broken(c)) {
		return;
	}
	account_sent(c, outbox_send(&c->outbox, &c->byte_stream, parts, count));
	if (!c->busy && !is_broken(c)) {
		watch(c);
	}
}

void connection_attach(struct http_connection *c, struct rope *rope)
{
	if (is_broken(c)) {
		return;
	}
	outbox_attach(&c->outbox, rope);
	account_sent(c, outbox_flush(&c->outbox, &c->byte_stream));
	if (!c->busy && !is_broken(c)) {
		watch(c);
	}
}

static void flush(struct http_connection *c)
{
	account_sent(c, outbox_flush(&c->outbox, &c->byte_stream));
	if (c->state != CONNECTION_HELD || outbox_waiting(&c->outbox) > DRAINED_BYTES) {
		return;
	}
	connection_enter(c, CONNECTION_STREAMING);
	const struct http_exchange *shown = &c->exchange->shown;
	if (shown->drained) {
		shown->drained(shown->user);
	}
}

static size_t read_size(const struct http_connection *c)
{
	if (c->byte_stream.transport) {
		return HTTP_TRANSPORT_BYTES;
	}
	if (c->state != CONNECTION_BODY) {
		return HEAD_READ_BYTES;
	}
	const struct http_reader *reader = &c->exchange->reader;
	return reader_wants(reader,
			    reader->http1.framing.chunked ? HEAD_READ_BYTES : SERVER_READ_BYTES);
}

/* Discarded bytes are not decrypted. */
static void discard(struct http_connection *c)
{
	ssize_t n = byte_stream_discard(&c->byte_stream, c->server->input, SERVER_READ_BYTES);

	if (n == -EAGAIN || n == -EINTR) {
		return;
	}
	if (n > 0) {
		c->server->counts.bytes_in += (size_t)n;
		c->lingered += (size_t)n;
	}
	if (n <= 0 || c->lingered > LINGER_BYTES) {
		connection_break(c);
	}
}

static void receive(struct http_connection *c)
{
	ssize_t n = byte_stream_receive(&c->byte_stream, c->server->input, read_size(c));

	set_blocked(c, n == HTTP_WANTS_OUTPUT);
	if (n == HTTP_WANTS_OUTPUT || n == HTTP_WANTS_INPUT || n == -EINTR) {
		return;
	}
	if (n <= 0) {
		connection_break(c);
		return;
	}
	c->server->counts.bytes_in += (size_t)n;
	c->input = c->server->input;
	c->input_size = (size_t)n;
}

/* --- steps ----------------------------------------------------------------------------------- */

static void after_feed(struct http_connection *c, size_t taken)
{
	struct exchange *x = c->exchange;

	if (x->reader.state == READER_HEAD_DONE) {
		exchange_admit(x);
		if (c->exchange != x) {
			return;
		}
	} else if (x->reader.state == READER_BODY) {
		timeouts_came(c, taken);
	} else if (x->reader.state == READER_HEAD && c->state == CONNECTION_IDLE) {
		connection_enter(c, CONNECTION_HEAD);
	}
	if (x->reader.state == READER_REFUSED) {
		c->server->counts.malformed += x->reader.status != 503;
		connection_refuse(c, x->reader.status, x->reader.why);
	} else if (x->reader.state == READER_DONE) {
		exchange_handle(x);
	}
}

static void use_input(struct http_connection *c)
{
	if (!c->exchange) {
		c->exchange = exchange_new(c);
	}
	if (!c->exchange) {
		connection_break(c);
		return;
	}
	size_t taken = reader_feed(&c->exchange->reader, c->input, c->input_size);
	c->input += taken;
	c->input_size -= taken;
	after_feed(c, taken);
}

static bool step(struct http_connection *c)
{
	if (c->state == CONNECTION_FLUSHING && outbox_waiting(&c->outbox) == 0) {
		if (c->close || c->server->draining) {
			linger(c);
		} else {
			connection_enter(c, CONNECTION_IDLE);
		}
		return true;
	}
	if (connection_in(c, READING) && c->input_size > 0) {
		use_input(c);
		return true;
	}
	return false;
}

/* All connections share the server's buffer: the rest in it is copied. */
static void keep_input(struct http_connection *c)
{
	if (c->input_size == 0) {
		free(c->stash);
		c->stash = NULL;
		c->input = NULL;
	} else if (!c->stash) {
		c->stash = malloc(c->input_size);
		if (!c->stash) {
			connection_break(c);
			return;
		}
		memcpy(c->stash, c->input, c->input_size);
		c->input = c->stash;
	}
}

void connection_proceed(struct http_connection *c)
{
	if (c->busy) {
		return;
	}
	c->busy = true;
	while (step(c)) {
	}
	if (!is_broken(c)) {
		keep_input(c);
	}
	if (!is_broken(c)) {
		watch(c);
	}
	c->busy = false;
	if (is_broken(c) || (c->server->draining && c->state == CONNECTION_IDLE)) {
		connection_end(c);
	}
}

/* --- events of the loop ---------------------------------------------------------------------- */

/* The peer has sent something while it is not to be read, or has closed its side. */
static void note_input(struct http_connection *c, uint32_t events)
{
	set_blocked(c, false);
	if (events & EPOLLIN && c->socket_input == INPUT_READ) {
		c->socket_input = INPUT_UNREAD;
	}
	if (!(events & EPOLLRDHUP)) {
		return;
	}
	c->socket_input = INPUT_CLOSED;
	/* Over TCP a client that still reads cannot be told from one that has left: see http.h. */
	if (connection_in(c, ANSWERING) && !c->peer->who.local) {
		connection_break(c);
	}
}

static void on_readable(struct http_connection *c)
{
	if (c->state == CONNECTION_OPENING) {
		open_transport(c);
	} else if (c->state == CONNECTION_ENDING) {
		linger(c);
	} else if (c->state == CONNECTION_LINGERING) {
		discard(c);
	} else {
		receive(c);
	}
}

static void ready(void *user, uint32_t events)
{
	struct http_connection *c = user;

	c->busy = true;
	/* A peer that has left will not read the bytes that the transport has to write. */
	if (events & (EPOLLERR | EPOLLHUP) || (is_blocked(c) && events & EPOLLRDHUP)) {
		connection_break(c);
	}
	if (!is_broken(c) && events & EPOLLOUT) {
		flush(c);
	}
	if (!connection_in(c, LISTENING | STATE_BIT(CONNECTION_BROKEN))) {
		note_input(c, events);
	} else if (!is_broken(c) && events & (is_blocked(c) ? EPOLLOUT : EPOLLIN)) {
		on_readable(c);
	}
	c->busy = false;
	connection_proceed(c);
}

static void due(void *user)
{
	struct http_connection *c = user;

	c->busy = true;
	c->server->counts.timed_out += !connection_in(c, QUIET);
	if (connection_in(c, READING & ~QUIET)) {
		connection_refuse(c, 408, "the request timed out");
	} else {
		connection_break(c);
	}
	c->busy = false;
	connection_proceed(c);
}

int connection_start(struct http_connection *c)
{
	c->timer.due = due;
	c->timer.user = c;
	c->events = EPOLLIN | EPOLLRDHUP;
	return loop_add(c->server->loop, c->byte_stream.fd, c->events, ready, c, &c->source);
}
