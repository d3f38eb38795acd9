/* SPDX-License-Identifier: Apache-2.0 */
/* One request, from its first byte until the handler gets it: see exchange.h. */
#include "http/connection/exchange.h"

#include <stdlib.h>
#include <string.h>

static const uint32_t exchange_edges[EXCHANGE_STATES] = {
	/* It may be answered before it is complete: a refusal. */
	[EXCHANGE_READING] = STATE_BIT(EXCHANGE_GIVEN) | STATE_BIT(EXCHANGE_ENDED),
	[EXCHANGE_GIVEN] = STATE_BIT(EXCHANGE_STREAMING) | STATE_BIT(EXCHANGE_ENDED),
	[EXCHANGE_STREAMING] = STATE_BIT(EXCHANGE_ENDED),
	[EXCHANGE_ENDED] = 0,
};

void exchange_enter(struct exchange *x, enum exchange_state state)
{
	invariant(state_allows(exchange_edges, x->state, state));
	invariant(!x->connection || x->connection->exchange == x);
	x->state = state;
}

struct exchange *exchange_new(struct http_connection *c)
{
	struct exchange *x = calloc(1, sizeof(*x));

	if (x) {
		x->connection = c;
		x->shown.peer = c->peer->who;
		reader_init(&x->reader, &c->server->options.limits, &c->server->bodies);
	}
	return x;
}

void exchange_free(struct exchange *x)
{
	if (!x) {
		return;
	}
	reader_done(&x->reader);
	if (x->shown.sink) {
		x->shown.sink->free(x->shown.sink);
	}
	buf_done(&x->headers);
	free(x);
}

void exchange_abandon(struct exchange *x)
{
	x->connection = NULL;
	if (x->shown.gone) {
		x->in_callback = true;
		x->shown.gone(x->shown.user);
	} else if (x->state == EXCHANGE_GIVEN || x->state == EXCHANGE_STREAMING) {
		/* It will be answered, perhaps after the server has been freed. */
		body_leave_pool(&x->reader.body);
		return;
	}
	exchange_free(x);
}

bool exchange_is_head(const struct exchange *x)
{
	const char *method = x->reader.method;

	return method && strcmp(method, "HEAD") == 0;
}

static void show_head(struct exchange *x)
{
	const struct http_reader *reader = &x->reader;

	x->shown.method = reader->method;
	x->shown.target = reader->target;
	x->shown.path = reader->path;
	x->shown.query = reader->query_at ? reader->target + reader->query_at : NULL;
	x->shown.headers = reader->headers.list;
	x->shown.headers_count = reader->headers.count;
}

/* Only if the body has not begun to arrive by itself. */
static void say_continue(struct exchange *x)
{
	static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";
	struct iovec part = outbox_part(text, strlen(text));

	if (x->reader.http1.framing.expects_continue && x->connection->input_size == 0) {
		connection_send(x->connection, &part, 1);
	}
}

void exchange_admit(struct exchange *x)
{
	struct http_connection *c = x->connection;
	const struct http_server_options *options = &c->server->options;
	size_t limit = options->limits.body_bytes, wanted = limit;
	int status = 0;

	show_head(x);
	if (options->admit) {
		x->in_callback = true;
		status = options->admit(options->user, &x->shown, &wanted);
		x->in_callback = false;
	}
	if (x->state == EXCHANGE_ENDED) {
		exchange_free(x);
		return;
	}
	if (status) {
		connection_refuse(c, status, "the request was not admitted");
		return;
	}
	x->reader.body.budget = x->shown.budget;
	x->reader.body.sink = x->shown.sink;
	if (wanted < limit) {
		reader_go_on(&x->reader, wanted, x->shown.limit);
	} else {
		reader_go_on(&x->reader, limit, "http.body_bytes");
	}
	if (x->reader.state == READER_BODY) {
		connection_enter(c, CONNECTION_BODY);
		say_continue(x);
	}
}

void exchange_handle(struct exchange *x)
{
	struct http_connection *c = x->connection;
	const struct http_server_options *options = &c->server->options;

	x->shown.body = x->reader.body.data;
	x->shown.body_size = x->reader.body.size;
	c->server->counts.requests++;
	connection_enter(c, CONNECTION_WORKING);
	exchange_enter(x, EXCHANGE_GIVEN);
	x->in_callback = true;
	options->handle(options->user, &x->shown);
	x->in_callback = false;
	if (x->state == EXCHANGE_ENDED) {
		exchange_free(x);
	}
}
