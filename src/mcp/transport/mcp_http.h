/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MCP over HTTP ("Streamable HTTP"): one endpoint, both eras. It is independent of the HTTP server,
 * which wraps its exchanges into struct mcp_http_exchange.
 */
#ifndef BRIG_MCP_MCP_HTTP_H
#define BRIG_MCP_MCP_HTTP_H

#include "mcp/mcp.h"

struct mcp_http_exchange;

/* After respond and stream_end the exchange is not used here any more. */
struct mcp_http_class {
	/* A header of the request, by a name without regard to case, or NULL. */
	const char *(*header)(struct mcp_http_exchange *exchange, const char *name);
	/* Sets a header of the answer, before respond or stream_begin. */
	void (*answer_header)(struct mcp_http_exchange *exchange, const char *name,
			      const char *value);
	/* content_type is NULL when there is no body. */
	void (*respond)(struct mcp_http_exchange *exchange, int status, const char *content_type,
			const void *body, size_t size);
	void (*stream_begin)(struct mcp_http_exchange *exchange, int status,
			     const char *content_type);
	/* Returns how many bytes the client has not read yet. */
	size_t (*stream_write)(struct mcp_http_exchange *exchange, const void *data, size_t size);
	void (*stream_end)(struct mcp_http_exchange *exchange);
};

/* One request; a member of the wrapper's own struct. */
struct mcp_http_exchange {
	const struct mcp_http_class *class;
	const char *method; /* "POST"; these are needed until mcp_http_handle() returns */
	const char *body;
	size_t body_size;
	/*
	 * Of a body that was parsed while it arrived, instead: its root, or the reason why there is
	 * none.
	 */
	json_t *root;
	const struct json_refusal *refusal;
	const char *tenant; /* the authenticated caller; never NULL */
	bool local;         /* over a unix socket: there is no browser, and Host is not checked */

	/*
	 * Set here, for the wrapper to call, never from within the functions above: the client left
	 * before the answer was complete; everything was sent, and there is room again. May be
	 * NULL.
	 */
	void (*gone)(struct mcp_http_exchange *exchange);
	void (*drained)(struct mcp_http_exchange *exchange);
	void *state; /* private to this layer */
};

struct mcp_http_options { /* 0: the default in parentheses */
	/* Names of this server in Host and Origin (NULL: localhost, 127.0.0.1, [::1]) */
	const char *const *hosts;
	size_t hosts_count;
	unsigned sessions;            /* legacy, all tenants (1024) */
	unsigned sessions_per_tenant; /* (64) */
	uint64_t session_ns;          /* without a request (30 minutes) */
	uint64_t away_ns; /* how long a legacy client may be disconnected from a call (60 s) */
};

struct mcp_http;

int mcp_http_new(struct mcp_server *server, const struct mcp_http_options *options,
		 struct mcp_http **ret);
/* Call after the HTTP server has ended its exchanges; before the MCP server is freed. */
void mcp_http_free(struct mcp_http *http);
/* Takes the exchange over: answers it, now or later. */
void mcp_http_handle(struct mcp_http *http, struct mcp_http_exchange *exchange);
unsigned mcp_http_sessions(const struct mcp_http *http);
#endif
