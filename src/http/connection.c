/* SPDX-License-Identifier: Apache-2.0 */
/* One connection: see connection.h. */
#include "http/connection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "http/budget.h"
#include "http/connections.h"
#include "http/exchange.h"
#include "http/timeouts.h"

#define HEAD_READ_BYTES 16384 /* no more, as bytes behind the head must be kept */
#define DRAINED_BYTES   (64u * 1024)
#define LINGER_BYTES    (4u * 1024 * 1024)

static bool is_reading(const struct http_connection *c)
{
	return c->state >= CONNECTION_IDLE && c->state <= CONNECTION_BODY;
}

/* Does the connection wait for input? */
static bool is_listening(const struct http_connection *c)
{
	return is_reading(c) || c->state == CONNECTION_LINGERING || c->state == CONNECTION_OPENING;
}

/* --- states ---------------------------------------------------------------------------------- */

void connection_enter(struct http_connection *c, enum connection_state state)
{
	c->state = (uint8_t)state;
	if (state == CONNECTION_IDLE || state == CONNECTION_LINGERING) {
		connections_queue(c, &c->server->idle);
	} else {
		bool slow = state == CONNECTION_HEAD || state == CONNECTION_OPENING;
		connections_queue(c, slow ? &c->server->heads : NULL);
	}
	timeouts_enter(c);
}

/* Called again until the end could be sent. */
static void linger(struct http_connection *c)
{
	int r = byte_stream_end(&c->byte_stream);

	c->input_size = 0;
	c->end_sent = r == 0;
	c->blocked = r == HTTP_WANTS_OUTPUT;
	if (r < 0 && !c->blocked) {
		c->broken = true;
		return;
	}
	connection_enter(c, CONNECTION_LINGERING);
}

static void open_transport(struct http_connection *c)
{
	int r = byte_stream_begin(&c->byte_stream);

	c->blocked = r == HTTP_WANTS_OUTPUT;
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
	uint32_t events = 0;

	c->unread_input = c->unread_input && !is_listening(c);
	events |= c->unread_input || c->blocked ? 0 : EPOLLIN;
	events |= c->half_closed ? 0 : EPOLLRDHUP;
	events |= outbox_waiting(&c->outbox) > 0 || c->blocked ? EPOLLOUT : 0;
	if (events != c->events && loop_change(c->source, events) < 0) {
		connection_break(c);
	}
	c->events = events;
}

void connection_break(struct http_connection *c)
{
	c->broken = true;
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
	if (c->broken) {
		return;
	}
	account_sent(c, outbox_send(&c->outbox, &c->byte_stream, parts, count));
	if (!c->busy && !c->broken) {
		watch(c);
	}
}

void connection_attach(struct http_connection *c, struct rope *rope)
{
	if (c->broken) {
		return;
	}
	outbox_attach(&c->outbox, rope);
	account_sent(c, outbox_flush(&c->outbox, &c->byte_stream));
	if (!c->busy && !c->broken) {
		watch(c);
	}
}

static void flush(struct http_connection *c)
{
	account_sent(c, outbox_flush(&c->outbox, &c->byte_stream));
	if (c->broken || !c->held || outbox_waiting(&c->outbox) > DRAINED_BYTES) {
		return;
	}
	c->held = false;
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
	c->broken = n <= 0 || c->lingered > LINGER_BYTES;
}

static void receive(struct http_connection *c)
{
	ssize_t n = byte_stream_receive(&c->byte_stream, c->server->input, read_size(c));

	c->blocked = n == HTTP_WANTS_OUTPUT;
	if (c->blocked || n == HTTP_WANTS_INPUT || n == -EINTR) {
		return;
	}
	if (n <= 0) {
		c->broken = true;
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
		c->broken = true;
		return;
	}
	size_t taken = reader_feed(&c->exchange->reader, c->input, c->input_size);
	c->input += taken;
	c->input_size -= taken;
	after_feed(c, taken);
}

static bool step(struct http_connection *c)
{
	if (c->broken) {
		return false;
	}
	if (c->state == CONNECTION_FLUSHING && outbox_waiting(&c->outbox) == 0) {
		if (c->close || c->server->draining) {
			linger(c);
		} else {
			connection_enter(c, CONNECTION_IDLE);
		}
		return true;
	}
	if (is_reading(c) && c->input_size > 0) {
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
			c->broken = true;
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
	if (!c->broken) {
		keep_input(c);
	}
	if (!c->broken) {
		watch(c);
	}
	c->busy = false;
	if (c->broken || (c->server->draining && c->state == CONNECTION_IDLE)) {
		connection_end(c);
	}
}

/* --- events of the loop ---------------------------------------------------------------------- */

static void peer_closed(struct http_connection *c)
{
	bool waits = c->state == CONNECTION_WORKING || c->state == CONNECTION_STREAMING;

	/* Over TCP a client that still reads cannot be told from one that has left: see http.h. */
	if (waits && !c->peer->who.local) {
		c->broken = true;
	}
	c->half_closed = true;
}

static void on_readable(struct http_connection *c)
{
	if (c->state == CONNECTION_OPENING) {
		open_transport(c);
	} else if (c->state == CONNECTION_LINGERING && c->blocked) {
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
	if (events & (EPOLLERR | EPOLLHUP) || (c->blocked && events & EPOLLRDHUP)) {
		c->broken = true;
	}
	if (!c->broken && events & EPOLLOUT) {
		flush(c);
	}
	bool listens = is_listening(c);
	if (!c->broken && listens && events & (c->blocked ? EPOLLOUT : EPOLLIN)) {
		on_readable(c);
	} else if (!c->broken && !listens) {
		c->blocked = false;
		c->unread_input = c->unread_input || events & EPOLLIN;
		if (events & EPOLLRDHUP) {
			peer_closed(c);
		}
	}
	c->busy = false;
	connection_proceed(c);
}

static void due(void *user)
{
	struct http_connection *c = user;

	c->busy = true;
	if (c->broken || c->state == CONNECTION_IDLE || c->state == CONNECTION_LINGERING) {
		c->broken = true;
	} else {
		c->server->counts.timed_out++;
		if (is_reading(c)) {
			connection_refuse(c, 408, "the request timed out");
		} else {
			c->broken = true;
		}
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
