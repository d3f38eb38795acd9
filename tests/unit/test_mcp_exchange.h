/* SPDX-License-Identifier: Apache-2.0 */
/* An HTTP exchange without HTTP, for tests of MCP's transport. */
#ifndef BRIG_TESTS_UNIT_TEST_MCP_EXCHANGE_H
#define BRIG_TESTS_UNIT_TEST_MCP_EXCHANGE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes/buf.h"
#include "mcp/transport/mcp_http.h"

#define FAKE_HEADERS 10

struct fake_exchange {
	struct mcp_http_exchange exchange;
	const char *headers[FAKE_HEADERS][2]; /* name, value */
	int status;                           /* 0: not answered yet */
	bool streaming, ended;
	char session[64]; /* the text of the answer */
	struct buf text;  /* the body, or the events */
	/* Called when the exchange ends, from within, as a server with pipelining would. */
	void (*then)(void *user);
	void *user;
};

static inline struct fake_exchange *fake_of(struct mcp_http_exchange *exchange)
{
	return (struct fake_exchange *)exchange;
}

static inline const char *fake_header(struct mcp_http_exchange *exchange, const char *name)
{
	struct fake_exchange *fake = fake_of(exchange);

	for (int i = 0; i < FAKE_HEADERS && fake->headers[i][0]; i++) {
		if (strcasecmp(fake->headers[i][0], name) == 0) {
			return fake->headers[i][1];
		}
	}
	return NULL;
}

static inline void fake_answer_header(struct mcp_http_exchange *exchange, const char *name,
				      const char *value)
{
	if (strcmp(name, "Mcp-Session-Id") == 0) {
		snprintf(fake_of(exchange)->session, 64, "%s", value);
	}
}

/* Ends exactly once; otherwise the layer has an error. */
static inline void fake_end(struct fake_exchange *fake)
{
	if (fake->ended) {
		abort();
	}
	fake->ended = true;
	if (fake->then) {
		fake->then(fake->user);
	}
}

static inline void fake_respond(struct mcp_http_exchange *exchange, int status,
				const char *content_type, const void *body, size_t size)
{
	struct fake_exchange *fake = fake_of(exchange);

	if (fake->status || (content_type == NULL) != (size == 0)) {
		abort();
	}
	fake->status = status;
	buf_add(&fake->text, body, size);
	fake_end(fake);
}

static inline void fake_begin(struct mcp_http_exchange *exchange, int status,
			      const char *content_type)
{
	struct fake_exchange *fake = fake_of(exchange);

	if (fake->status || fake->ended || strcmp(content_type, "text/event-stream") != 0) {
		abort();
	}
	fake->status = status;
	fake->streaming = true;
}

static inline size_t fake_write(struct mcp_http_exchange *exchange, const void *data, size_t size)
{
	struct fake_exchange *fake = fake_of(exchange);

	if (!fake->streaming || fake->ended) {
		abort();
	}
	buf_add(&fake->text, data, size);
	return 0;
}

static inline void fake_stream_end(struct mcp_http_exchange *exchange)
{
	if (!fake_of(exchange)->streaming) {
		abort();
	}
	fake_end(fake_of(exchange));
}

static const struct mcp_http_class fake_class = {
	.header = fake_header,
	.answer_header = fake_answer_header,
	.respond = fake_respond,
	.stream_begin = fake_begin,
	.stream_write = fake_write,
	.stream_end = fake_stream_end,
};

/* The client leaves. */
static inline void fake_leave(struct fake_exchange *fake)
{
	if (!fake->ended && fake->exchange.gone) {
		fake->ended = true;
		fake->exchange.gone(&fake->exchange);
	}
}

static inline void fake_add(struct fake_exchange *fake, const char *name, const char *value)
{
	int i = 0;

	while (i < FAKE_HEADERS && fake->headers[i][0]) {
		i++;
	}
	if (i < FAKE_HEADERS) {
		fake->headers[i][0] = name;
		fake->headers[i][1] = value;
	}
}
#endif
