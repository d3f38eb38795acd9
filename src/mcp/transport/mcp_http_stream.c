/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer to a POST: one JSON text, or, when other messages precede it, an event stream. The
 * stream of a legacy session outlives its connection: the client may come back with Last-Event-ID.
 */
#include <stdio.h>
#include <string.h>

#include "base/bytes/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "mcp/mcp_limits.h"
#include "mcp/transport/mcp_http_internal.h"

#define KEEP_ALIVE_NS (15ull * 1000000000)
#define RETRY_MS      500

static void stream_gone(struct mcp_http_exchange *exchange);
static void stream_due(void *user);

static struct mcp_peer *stream_peer(struct mcp_stream *stream)
{
	return stream->session ? &stream->session->peer : &stream->peer;
}

static void stream_wait(struct mcp_stream *stream, uint64_t ns)
{
	stream->timer.due = stream_due;
	stream->timer.user = stream;
	loop_timer_set(stream->http->server->loop, &stream->timer, clock_now_ns() + ns);
}

/* Detaches the exchange: neither side calls the other any more. */
static struct mcp_http_exchange *stream_let_go(struct mcp_stream *stream)
{
	struct mcp_http_exchange *exchange = TAKE_PTR(stream->exchange);

	loop_timer_clear(&stream->timer);
	exchange->gone = NULL;
	exchange->drained = NULL;
	exchange->state = NULL;
	return exchange;
}

static bool can_come_back(const struct mcp_stream *stream)
{
	return stream->session && !stream->is_long &&
	       mcp_version_from(stream->session->peer.version, "2025-03-26");
}

/* Older clients do not expect an event without a message in it, nor to be disconnected. */
static bool can_be_primed(const struct mcp_stream *stream)
{
	return can_come_back(stream) &&
	       mcp_version_from(stream->session->peer.version, "2025-11-25");
}

static void stream_write(struct mcp_stream *stream, const struct buf *text)
{
	if (!text->failed) {
		stream->backlog = stream->exchange->class->stream_write(stream->exchange,
									text->data, text->size);
	}
}

static void write_event(struct mcp_stream *stream, unsigned number, const char *text, size_t size)
{
	struct buf event = { 0 };

	if (can_come_back(stream)) {
		buf_addf(&event, "id: %u-%u\n", stream->number, number);
	}
	buf_adds(&event, "data: ");
	buf_add(&event, text, size);
	buf_adds(&event, "\n\n");
	stream_write(stream, &event);
	buf_done(&event);
}

static void stream_begin(struct mcp_stream *stream)
{
	struct mcp_http_exchange *exchange = stream->exchange;
	bool first = !stream->begun;

	if (!exchange) {
		return;
	}
	stream->begun = true;
	stream->backlog = 0;
	exchange->class->answer_header(exchange, "X-Accel-Buffering", "no");
	exchange->class->answer_header(exchange, "Cache-Control", "no-cache, no-transform");
	exchange->class->stream_begin(exchange, 200, "text/event-stream");
	stream_wait(stream, KEEP_ALIVE_NS);
	if (first && !stream->ended && can_be_primed(stream)) {
		struct buf prime = { 0 };
		buf_addf(&prime, "id: %u-0\nretry: %d\ndata: \n\n", stream->number, RETRY_MS);
		stream_write(stream, &prime);
		buf_done(&prime);
	}
}

static void keep_event(struct mcp_stream *stream, const char *text, size_t size)
{
	struct mcp_event *event = malloc(sizeof(*event) + size + 1);
	struct mcp_event **end = &stream->events;

	if (!event) {
		return;
	}
	event->next = NULL;
	event->number = stream->last_event;
	event->size = size;
	memcpy(event->text, text, size + 1);
	while (*end) {
		end = &(*end)->next;
	}
	*end = event;
	stream->session->events_bytes += size;
	mcp_session_trim(stream->session, stream);
}

static void stream_event(struct mcp_stream *stream, const char *text, size_t size)
{
	if (!text) {
		return;
	}
	stream->last_event++;
	/* In this order: keeping an event may drop others, even the one that was just kept. */
	if (stream->exchange) {
		write_event(stream, stream->last_event, text, size);
	}
	if (can_come_back(stream) && stream->number > 0) {
		keep_event(stream, text, size);
	}
}

static bool channel_send(struct mcp_channel *channel, const json_t *message, bool lossy)
{
	struct mcp_stream *stream = (struct mcp_stream *)channel;

	if (!stream->takes_events ||
	    (stream->number == 0 && stream->session && !stream->exchange)) {
		return false;
	}
	if (lossy && stream->exchange && stream->backlog > MCP_BACKLOG_LOSSY) {
		return true;
	}
	if (!stream->begun) {
		stream_begin(stream);
	}
	size_t size;
	_cleanup_free_ char *text = mcp_message_text(message, &size);
	stream_event(stream, text, size);
	return true;
}

/*
 * Ending an exchange lets its connection go on to the next request, which may be handled before
 * respond or stream_end returns: they come last, when nothing of this layer is in use.
 */
static void answer_json(struct mcp_stream *stream, const char *text, size_t size, int status)
{
	struct mcp_http_exchange *exchange = stream_let_go(stream);

	if (stream->opens && stream->session->peer.version) {
		exchange->class->answer_header(exchange, "Mcp-Session-Id", stream->session->id);
	}
	mcp_stream_free(stream);
	exchange->class->respond(exchange, text ? status : 500, text ? "application/json" : NULL,
				 text, size);
}

/* Called at its end, with or without an answer. */
static void stream_finish(struct mcp_stream *stream, const char *text, size_t size, bool answered)
{
	stream->ended = true;
	if (!stream->begun) { /* cancelled: shown by a stream without an answer */
		stream_begin(stream);
	}
	if (answered) {
		stream_event(stream, text, size);
	}
	loop_timer_clear(&stream->timer);
	struct mcp_http_exchange *exchange = stream->exchange ? stream_let_go(stream) : NULL;
	if (!can_come_back(stream) || !answered) {
		mcp_stream_free(stream);
	}
	if (exchange) {
		exchange->class->stream_end(exchange);
	}
}

static void answer_with(struct mcp_stream *stream, const char *text, size_t size, int status)
{
	if (stream->begun) {
		stream_finish(stream, text, size, true);
	} else {
		answer_json(stream, text, size, status);
	}
}

static void channel_answer_text(struct mcp_channel *channel, const char *text, size_t size)
{
	answer_with((struct mcp_stream *)channel, text, size, 200);
}

static void answer_accepted(struct mcp_stream *stream)
{
	struct mcp_http_exchange *exchange = stream_let_go(stream);

	mcp_stream_free(stream);
	exchange->class->respond(exchange, 202, NULL, NULL, 0);
}

static void channel_answer(struct mcp_channel *channel, const json_t *message, int status)
{
	size_t size = 0;
	_cleanup_free_ char *text = message ? mcp_message_text(message, &size) : NULL;

	if (message) {
		answer_with((struct mcp_stream *)channel, text, size, status);
	} else if (status == 202) {
		answer_accepted((struct mcp_stream *)channel);
	} else {
		stream_finish((struct mcp_stream *)channel, NULL, 0, false);
	}
}

static void channel_release(struct mcp_channel *channel)
{
	struct mcp_stream *stream = (struct mcp_stream *)channel;

	if (!stream->exchange || !stream->takes_events || !can_be_primed(stream)) {
		return;
	}
	if (!stream->begun) {
		stream_begin(stream);
	}
	struct mcp_http_exchange *exchange = stream_let_go(stream);
	stream_wait(stream, stream->http->options.away_ns);
	exchange->class->stream_end(exchange);
}

static const struct mcp_channel_class stream_class = {
	.send = channel_send,
	.answer = channel_answer,
	.answer_text = channel_answer_text,
	.release = channel_release,
};

static void stream_take(struct mcp_stream *stream, struct mcp_http_exchange *exchange);

struct mcp_stream *mcp_stream_new(struct mcp_http *http, struct mcp_session *session,
				  struct mcp_http_exchange *exchange, bool takes_events)
{
	struct mcp_stream *stream = calloc(1, sizeof(*stream));

	if (!stream) {
		return NULL;
	}
	stream->channel.class = &stream_class;
	stream->http = http;
	stream->takes_events = takes_events;
	stream->is_long = exchange->body_size > MCP_AWAY_BODY_MAX;
	if (session) {
		stream->session = session;
		stream->number = ++session->last_stream;
		stream->next = session->streams;
		stream->link = &session->streams;
		if (stream->next) {
			stream->next->link = &stream->next;
		}
		session->streams = stream;
	} else if (mcp_peer_init(&stream->peer, http->server, exchange->tenant) < 0) {
		free(stream);
		return NULL;
	}
	stream_take(stream, exchange);
	return stream;
}

void mcp_stream_init_general(struct mcp_stream *stream, struct mcp_session *session)
{
	stream->channel.class = &stream_class;
	stream->http = session->http;
	stream->session = session;
	stream->takes_events = true;
}

static void drop_events(struct mcp_stream *stream)
{
	while (stream->events) {
		struct mcp_event *event = stream->events;
		stream->events = event->next;
		stream->session->events_bytes -= event->size;
		free(event);
	}
}

void mcp_stream_free(struct mcp_stream *stream)
{
	loop_timer_clear(&stream->timer);
	drop_events(stream);
	if (stream->session && stream->number == 0) {
		return; /* a member of the session */
	}
	if (stream->session) {
		*stream->link = stream->next;
		if (stream->next) {
			stream->next->link = stream->link;
		}
	} else {
		mcp_peer_done(&stream->peer);
	}
	free(stream);
}

static void stream_drained(struct mcp_http_exchange *exchange)
{
	((struct mcp_stream *)exchange->state)->backlog = 0;
}

static void stream_take(struct mcp_stream *stream, struct mcp_http_exchange *exchange)
{
	stream->exchange = exchange;
	exchange->gone = stream_gone;
	exchange->drained = stream_drained;
	exchange->state = stream;
}

/* No client can come back for it. */
static void stream_abandon(struct mcp_stream *stream)
{
	mcp_peer_abandon(stream_peer(stream), &stream->channel);
	mcp_stream_free(stream);
}

static void stream_gone(struct mcp_http_exchange *exchange)
{
	struct mcp_stream *stream = exchange->state;

	stream_let_go(stream);
	if (stream->session && stream->number == 0) {
		return;
	}
	if (stream->begun && can_come_back(stream)) {
		stream_wait(stream, stream->http->options.away_ns);
	} else {
		stream_abandon(stream);
	}
}

static void stream_due(void *user)
{
	struct mcp_stream *stream = user;

	if (!stream->exchange) {
		stream_abandon(stream);
		return;
	}
	stream->backlog = stream->exchange->class->stream_write(stream->exchange, ":\n\n", 3);
	stream_wait(stream, KEEP_ALIVE_NS);
}

void mcp_stream_attach(struct mcp_stream *stream, struct mcp_http_exchange *exchange,
		       unsigned last_event)
{
	/* The client has given up the old connection without our knowledge. */
	struct mcp_http_exchange *old = stream->exchange ? stream_let_go(stream) : NULL;

	stream_take(stream, exchange);
	stream_begin(stream);
	for (const struct mcp_event *event = stream->events; event; event = event->next) {
		if (event->number > last_event) {
			write_event(stream, event->number, event->text, event->size);
		}
	}
	if (stream->ended) {
		stream_let_go(stream);
		exchange->class->stream_end(exchange);
	}
	if (old) {
		old->class->stream_end(old);
	}
}

void mcp_stream_close(struct mcp_stream *stream)
{
	struct mcp_http_exchange *exchange = stream->exchange ? stream_let_go(stream) : NULL;
	bool begun = stream->begun;

	mcp_stream_free(stream);
	if (exchange && begun) {
		exchange->class->stream_end(exchange);
	} else if (exchange) {
		mcp_exchange_error(exchange, 404, NULL, MCP_E_INVALID_REQUEST, NULL,
				   "the session has ended");
	}
}

void mcp_exchange_error(struct mcp_http_exchange *exchange, int status, json_t *id, int code,
			json_t *data, const char *text)
{
	json_t *message = mcp_message_error(id, code, text, data);
	size_t size;
	_cleanup_free_ char *body = mcp_message_text(message, &size);

	json_decref(message);
	exchange->class->respond(exchange, status, body ? "application/json" : NULL, body, size);
}
