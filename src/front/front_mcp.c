/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /mcp: the Model Context Protocol over HTTP. The caller, Host and Origin have been checked before.
 * The protocol layer handles the messages, and its tools run code through the admitted engine.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "front/request/request.h"
#include "front/request/upload.h"
#include "mcp/transport/mcp_http.h"
#include "tools/tools.h"

struct mcp_bridge;

struct front_mcp {
	struct mcp_bridge *exchanges; /* owned: those in progress */
	struct tools *tools;
	struct mcp_server *server;
	struct mcp_http *http;
};

/* Connects an exchange of the HTTP server with one of the protocol. */
struct mcp_bridge {
	struct mcp_http_exchange mcp;
	struct http_exchange *http;
	struct caller caller;
	struct front_mcp *owner;
	struct mcp_bridge *next, *previous;
};

static struct mcp_bridge *bridge_of(struct mcp_http_exchange *exchange)
{
	return (struct mcp_bridge *)(void *)exchange;
}

static const char *header(struct mcp_http_exchange *exchange, const char *name)
{
	return http_header_find(bridge_of(exchange)->http, name);
}

static void answer_header(struct mcp_http_exchange *exchange, const char *name, const char *value)
{
	http_answer_header(bridge_of(exchange)->http, name, value);
}

static void bridge_free(struct mcp_bridge *bridge)
{
	*(bridge->previous ? &bridge->previous->next : &bridge->owner->exchanges) = bridge->next;
	if (bridge->next) {
		bridge->next->previous = bridge->previous;
	}
	free(bridge);
}

static struct http_exchange *unwrap(struct mcp_http_exchange *exchange)
{
	struct mcp_bridge *bridge = bridge_of(exchange);
	struct http_exchange *http = bridge->http;

	http->gone = NULL;
	http->drained = NULL;
	bridge_free(bridge);
	return http;
}

static void respond(struct mcp_http_exchange *exchange, int status, const char *content_type,
		    const void *body, size_t size)
{
	http_respond(unwrap(exchange), status, content_type, body, size);
}

static void stream_begin(struct mcp_http_exchange *exchange, int status, const char *content_type)
{
	http_stream_begin(bridge_of(exchange)->http, status, content_type);
}

static size_t stream_write(struct mcp_http_exchange *exchange, const void *data, size_t size)
{
	return http_stream_write(bridge_of(exchange)->http, data, size);
}

static void stream_end(struct mcp_http_exchange *exchange)
{
	http_stream_end(unwrap(exchange));
}

static const struct mcp_http_class exchange_class = {
	.header = header,
	.answer_header = answer_header,
	.respond = respond,
	.stream_begin = stream_begin,
	.stream_write = stream_write,
	.stream_end = stream_end,
};

static void gone(void *user)
{
	struct mcp_bridge *bridge = user;

	if (bridge->mcp.gone) {
		bridge->mcp.gone(&bridge->mcp);
	}
	bridge_free(bridge);
}

static struct mcp_bridge *find_revoked(const struct front *front)
{
	for (struct mcp_bridge *b = front->mcp->exchanges; b; b = b->next) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): a freed one is not in the list */
		if (b->caller.token &&
		    !auth_is_valid(&front->auth, b->caller.tenant, b->caller.name)) {
			return b;
		}
	}
	return NULL;
}

void front_mcp_revoke(struct front *front)
{
	struct mcp_bridge *bridge;

	while ((bridge = find_revoked(front)) != NULL) {
		struct http_exchange *http = bridge->http;

		http->gone = NULL;
		http->drained = NULL;
		gone(bridge);
		http_cut(http);
	}
}

static void drained(void *user)
{
	struct mcp_bridge *bridge = user;

	if (bridge->mcp.drained) {
		bridge->mcp.drained(&bridge->mcp);
	}
}

void handle_mcp(struct request *request)
{
	struct front *front = request->front;
	struct http_exchange *http = request->exchange;
	struct mcp_bridge *bridge = calloc(1, sizeof(*bridge));

	if (!bridge) {
		request_refuse(request, PROBLEM_MEMORY_LOW, "no memory for the request");
		return;
	}
	bridge->caller = request->caller;
	bridge->http = http;
	bridge->owner = front->mcp;
	bridge->next = front->mcp->exchanges;
	if (bridge->next) {
		bridge->next->previous = bridge;
	}
	front->mcp->exchanges = bridge;
	struct json_refusal refusal = { 0 };
	bool read = upload_has(http);
	struct document body = { 0 };
	if (read) {
		body = upload_read(http, &refusal);
	}
	bridge->mcp = (struct mcp_http_exchange){
		.class = &exchange_class,
		.method = http->method,
		.body = http->body,
		.body_size = http->body_size,
		.root = body.root,
		.refusal = read ? &refusal : NULL,
		.tenant = bridge->caller.name,
		.local = true, /* Host and Origin have been checked */
	};
	/* From here on the protocol owns the exchange. */
	http->gone = gone;
	http->drained = drained;
	http->user = bridge;
	request->exchange = NULL;
	request_free(request);
	struct caller caller = bridge->caller;
	front->mcp_caller = &caller;
	mcp_http_handle(front->mcp->http, &bridge->mcp);
	front->mcp_caller = NULL;
	document_done(&body);
	explicit_bzero(caller.presented, sizeof(caller.presented));
}

static bool may_consent(void *user, const char *name)
{
	const struct front *front = user;
	struct caller caller;

	return auth_recall(&front->auth, name, name, &caller) && caller.consent;
}

static int make_parts(struct front *front, struct front_mcp *mcp, struct brig_error *error)
{
	const struct tools_options options = { .consent_asked = true,
					       .may_consent = may_consent,
					       .user = front };
	const struct mcp_options limits = { .message_bytes = front->limits.json_bytes };
	int r = tools_new(front->loop, front->admitted, &options, &mcp->tools, error);

	r = r < 0 ? r
		  : mcp_server_new(front->loop, tools_provider(mcp->tools), &limits, &mcp->server,
				   error);
	return r < 0 ? r : mcp_http_new(mcp->server, NULL, &mcp->http);
}

int front_mcp_new(struct front *front, struct front_mcp **ret, struct brig_error *error)
{
	struct front_mcp *mcp = calloc(1, sizeof(*mcp));
	int r = mcp ? make_parts(front, mcp, error) : -ENOMEM;

	if (r < 0) {
		if (error && !error->message[0]) {
			error_errno(error, BRIG_E_SYSTEM, -r, "MCP cannot start");
		}
		front_mcp_free(mcp);
		return r;
	}
	*ret = mcp;
	return 0;
}

void front_mcp_drain(struct front_mcp *mcp)
{
	mcp_server_drain(mcp->server);
}

void front_mcp_free(struct front_mcp *mcp)
{
	if (!mcp) {
		return;
	}
	mcp_http_free(mcp->http);
	mcp_server_free(mcp->server);
	tools_free(mcp->tools);
	free(mcp);
}
