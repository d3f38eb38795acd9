/* SPDX-License-Identifier: Apache-2.0 */
/* The handler's side of an exchange: reading headers, answering at once or in parts. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "http/connection/budget.h"
#include "http/connection/exchange.h"
#include "http/message/answer.h"

#define STREAM_HOLD_BYTES (256u * 1024)
#define STREAM_MAX_BYTES  (16u * 1024 * 1024)
#define SMALL_BYTES       (64u * 1024) /* an answer that is too small to be refused */

/* `shown` is its first member. */
static struct exchange *exchange_of(struct http_exchange *shown)
{
	return (struct exchange *)shown;
}

/* No byte of an answer has been sent. */
static bool is_unanswered(const struct exchange *x)
{
	return x->state == EXCHANGE_READING || x->state == EXCHANGE_GIVEN;
}

const char *http_header_find(const struct http_exchange *exchange, const char *name)
{
	return headers_find(exchange->headers, exchange->headers_count, name);
}

int http_answer_header(struct http_exchange *exchange, const char *name, const char *value)
{
	struct exchange *x = exchange_of(exchange);

	if (!is_unanswered(x)) {
		return -EALREADY;
	}
	return answer_add(&x->headers, name, value);
}

/* The exchange has ended. Returns its connection, or NULL. */
static struct http_connection *release(struct exchange *x)
{
	struct http_connection *c = x->connection;

	exchange_enter(x, EXCHANGE_ENDED);
	x->connection = NULL;
	if (c) {
		c->exchange = NULL;
	}
	return c;
}

/* The answer is complete; the connection goes on with the next request. */
static void finish(struct exchange *x)
{
	struct http_connection *c = release(x);

	if (x->in_callback) {
		return;
	}
	exchange_free(x);
	if (c) {
		connection_proceed(c);
	}
}

static struct answer_form form_of(const struct exchange *x, int status, const char *content_type)
{
	const struct http_connection *c = x->connection;

	return (struct answer_form){
		.status = status >= 200 && status <= 599 ? status : 500,
		.content_type = content_type,
		/* Before the handler owns it, the rest of the request is still to come. */
		.close = x->state == EXCHANGE_READING || !x->reader.http1.framing.keep_alive ||
			 c->server->draining,
		.say_keep_alive = x->reader.http1.line.minor == 0,
	};
}

static void send_head(struct exchange *x, const struct answer_form *form, const void *body,
		      size_t size)
{
	struct http_connection *c = x->connection;
	struct buf head = { 0 };

	answer_head(&head, form, &x->headers);
	c->close = form->close;
	if (head.failed) {
		connection_break(c);
	} else {
		struct iovec parts[] = { outbox_part(head.data, head.size),
					 outbox_part(body, size) };
		connection_send(c, parts, 2);
	}
	buf_done(&head);
}

/* A client that does not read its answers gets no more large ones: the body of the refusal. */
static char *refuse_large(struct exchange *x)
{
	static const char why[] =
		"your unread answers are too large together (http.tenant_answer_bytes)";
	const struct http_server_options *options = &x->connection->server->options;

	answer_add(&x->headers, "Retry-After", "1");
	return options->problem ? options->problem(options->user, 429, why) : NULL;
}

/* The body is `body`, or `rope` when that is not NULL. */
static void respond(struct exchange *x, int status, const char *content_type, const void *body,
		    size_t size, struct rope *rope)
{
	struct answer_form form = form_of(x, status, content_type);

	budget_charge(x->connection, x->shown.budget);
	form.end = ANSWER_LENGTH;
	form.length = rope ? rope_left(rope) : size;
	connection_enter(x->connection, CONNECTION_FLUSHING);
	bool bare = exchange_is_head(x) || !answer_has_body(form.status);
	send_head(x, &form, body, bare || rope ? 0 : size);
	if (rope && !bare) {
		connection_attach(x->connection, rope);
	}
}

/* True: the budget has no room for so much, and the client was refused. */
static bool respond_large(struct exchange *x, size_t size)
{
	if (!x->connection || size <= SMALL_BYTES || budget_allows(x->shown.budget, size)) {
		return false;
	}
	_cleanup_free_ char *instead = refuse_large(x);
	respond(x, 429, "application/problem+json", instead ? instead : "",
		instead ? strlen(instead) : 0, NULL);
	return true;
}

void http_respond(struct http_exchange *exchange, int status, const char *content_type,
		  const void *body, size_t size)
{
	struct exchange *x = exchange_of(exchange);

	if (!is_unanswered(x)) {
		return;
	}
	if (!respond_large(x, size) && x->connection) {
		respond(x, status, content_type, body, size, NULL);
	}
	finish(x);
}

void http_respond_rope(struct http_exchange *exchange, int status, const char *content_type,
		       struct rope *body)
{
	struct exchange *x = exchange_of(exchange);

	if (is_unanswered(x)) {
		bool whole = rope_finish(body);

		if (!whole && x->connection) {
			connection_break(x->connection);
		} else if (!respond_large(x, rope_left(body)) && x->connection) {
			respond(x, status, content_type, NULL, 0, body);
		}
		finish(x);
	}
	rope_done(body);
}

void http_stream_begin(struct http_exchange *exchange, int status, const char *content_type)
{
	struct exchange *x = exchange_of(exchange);

	/* A refusal before the body is complete is never a stream. */
	if (x->state != EXCHANGE_GIVEN) {
		return;
	}
	exchange_enter(x, EXCHANGE_STREAMING);
	if (!x->connection) {
		return;
	}
	struct answer_form form = form_of(x, status, content_type);
	budget_charge(x->connection, exchange->budget);
	x->chunked = x->reader.http1.line.minor > 0 && answer_has_body(form.status);
	form.end = x->chunked ? ANSWER_CHUNKED : ANSWER_CLOSE;
	form.close = form.close || !x->chunked;
	connection_enter(x->connection, CONNECTION_STREAMING);
	send_head(x, &form, NULL, 0);
}

void http_cut(struct http_exchange *exchange)
{
	struct exchange *x = exchange_of(exchange);

	if (x->state == EXCHANGE_ENDED) {
		return;
	}
	struct http_connection *c = release(x);
	if (c) {
		connection_break(c);
	}
	if (!x->in_callback) {
		exchange_free(x);
	}
}

bool http_streaming(const struct http_exchange *exchange)
{
	return ((const struct exchange *)(const void *)exchange)->state == EXCHANGE_STREAMING;
}

static bool is_cut(const struct exchange *x)
{
	return x->connection && x->connection->state == CONNECTION_BROKEN;
}

static bool takes_data(const struct exchange *x)
{
	return x->state == EXCHANGE_STREAMING && x->connection && !is_cut(x) &&
	       !exchange_is_head(x);
}

size_t http_stream_write(struct http_exchange *exchange, const void *data, size_t size)
{
	struct exchange *x = exchange_of(exchange);

	if (!takes_data(x)) {
		/* More writing would be useless, and `gone` is about to be called. */
		return is_cut(x) ? SIZE_MAX : 0;
	}
	struct http_connection *c = x->connection;
	if (size > 0) {
		char head[20];
		int head_size = x->chunked ? snprintf(head, sizeof(head), "%zx\r\n", size) : 0;
		struct iovec parts[] = { outbox_part(head, (size_t)head_size),
					 outbox_part(data, size),
					 outbox_part("\r\n", x->chunked ? 2 : 0) };
		connection_send(c, parts, 3);
	}
	size_t waiting = outbox_waiting(&c->outbox);
	if (waiting > STREAM_MAX_BYTES) {
		connection_break(c);
	} else if (waiting > STREAM_HOLD_BYTES && c->state == CONNECTION_STREAMING) {
		connection_enter(c, CONNECTION_HELD);
	}
	return is_cut(x) ? SIZE_MAX : waiting;
}

void http_stream_end(struct http_exchange *exchange)
{
	struct exchange *x = exchange_of(exchange);

	if (x->state != EXCHANGE_STREAMING) {
		return;
	}
	if (takes_data(x) && x->chunked) {
		struct iovec part = outbox_part("0\r\n\r\n", 5);
		connection_send(x->connection, &part, 1);
	}
	if (x->connection) {
		connection_enter(x->connection, CONNECTION_FLUSHING);
	}
	finish(x);
}
