/* SPDX-License-Identifier: Apache-2.0 */
/* Errors of this layer: an answer, then the end of the connection; further input is ignored. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "http/connection/exchange.h"
#include "http/message/answer.h"
#include "http/message/method.h"

static void send_refusal(struct http_connection *c, const struct exchange *x, int status,
			 const char *why)
{
	const struct http_server_options *options = &c->server->options;
	_cleanup_free_ char *problem =
		options->problem ? options->problem(options->user, status, why) : NULL;
	const char *body = problem ? problem : why;
	struct answer_form form = {
		.status = status >= 400 && status <= 599 ? status : 500,
		.content_type = problem ? "application/problem+json" : "text/plain; charset=utf-8",
		.length = strlen(body),
		.close = true,
	};
	struct buf head = { 0 }, headers = { 0 };

	if (status == 405) {
		answer_add(&headers, "Allow", method_allow);
	} else if (status == 503 || status == 429) {
		answer_add(&headers, "Retry-After", "1");
	}
	if (x && x->headers.size > 0) {
		buf_add(&headers, x->headers.data, x->headers.size);
	}
	answer_head(&head, &form, &headers);
	if (head.failed || headers.failed) {
		connection_break(c);
	} else {
		struct iovec parts[] = {
			outbox_part(head.data, head.size),
			outbox_part(body, x && exchange_is_head(x) ? 0 : form.length),
		};
		connection_send(c, parts, 2);
	}
	buf_done(&head);
	buf_done(&headers);
}

void connection_refuse(struct http_connection *c, int status, const char *why)
{
	struct exchange *x = TAKE_PTR(c->exchange);

	c->close = true;
	c->input_size = 0;
	connection_enter(c, CONNECTION_FLUSHING);
	send_refusal(c, x, status, why);
	if (x) {
		exchange_abandon(x);
	}
}
