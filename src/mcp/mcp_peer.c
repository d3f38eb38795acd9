/* SPDX-License-Identifier: Apache-2.0 */
/* A client: dispatches its messages; its calls. */
#include "mcp/mcp_internal.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "mcp/mcp_limits.h"

int mcp_peer_init(struct mcp_peer *peer, struct mcp_server *server, const char *tenant)
{
	*peer = (struct mcp_peer){ .server = server, .log_level = MCP_INFO };
	peer->tenant = strdup(tenant);
	if (!peer->tenant) {
		return -ENOMEM;
	}
	peer->next = server->peers;
	peer->link = &server->peers;
	if (peer->next) {
		peer->next->link = &peer->next;
	}
	server->peers = peer;
	return 0;
}

/* Its channel has ended; the rest of a batch ends with its last call. */
static void call_abandon(struct mcp_call *call)
{
	if (call->channel && call->channel != call->base) {
		mcp_batch_detach(call->channel);
	} else {
		call->channel = NULL;
	}
	mcp_call_cancel(call);
}

void mcp_peer_abandon(struct mcp_peer *peer, const struct mcp_channel *base)
{
	mcp_batch_drop(peer, base);
	struct mcp_call *call = peer->calls;
	/* From the beginning each time: cancelling a call may end others. */
	while (call) {
		if (call->base == base) {
			call_abandon(call);
			call = peer->calls;
		} else {
			call = call->next;
		}
	}
}

void mcp_peer_done(struct mcp_peer *peer)
{
	if (!peer->server) {
		return;
	}
	mcp_batch_drop(peer, NULL);
	while (peer->calls) {
		call_abandon(peer->calls);
	}
	*peer->link = peer->next;
	if (peer->next) {
		peer->next->link = peer->link;
	}
	mcp_watch_done(&peer->watch);
	json_decref(peer->capabilities);
	free(peer->tenant);
	*peer = (struct mcp_peer){ 0 };
}

void mcp_peer_refuse(struct mcp_channel *channel, json_t *id, int code, int status, json_t *data,
		     const char *text)
{
	json_t *message = mcp_message_error(id, code, text, data);

	channel->class->answer(channel, message, status);
	json_decref(message);
}

static struct mcp_call *call_find(const struct mcp_peer *peer, const json_t *id)
{
	for (struct mcp_call *call = peer->calls; call; call = call->next) {
		if (json_equal(call->id, id)) {
			return call;
		}
	}
	return NULL;
}

static struct mcp_call *call_new(struct mcp_peer *peer, const struct mcp_message *message)
{
	const json_t *meta = json_object_get(message->params, "_meta");
	json_t *token = json_object_get(meta, "progressToken");
	struct mcp_call *call = calloc(1, sizeof(*call));

	if (!call) {
		return NULL;
	}
	call->server = peer->server;
	call->tenant = strdup(peer->tenant);
	call->params = message->params ? json_incref(message->params) : json_object();
	call->id = json_incref(message->id);
	call->answers = json_object();
	call->progress = -1;
	if (json_is_integer(token) ||
	    (json_is_string(token) && json_string_length(token) <= MCP_ID_MAX)) {
		call->progress_token = json_incref(token);
	}
	if (!call->tenant || !call->params || !call->answers) {
		mcp_call_free(call);
		return NULL;
	}
	call->peer = peer;
	call->next = peer->calls;
	call->link = &peer->calls;
	if (call->next) {
		call->next->link = &call->next;
	}
	peer->calls = call;
	peer->calls_count++;
	return call;
}

/* The client's identity: from the request itself, or from initialize. */
static void call_identify(struct mcp_call *call, const struct mcp_peer *peer, bool modern)
{
	const json_t *meta = json_object_get(call->params, "_meta");

	call->modern = modern;
	if (modern) {
		const char *level = json_string_value(json_object_get(meta, META_LOG_LEVEL));
		call->version = VERSION_MODERN;
		call->capabilities = json_incref(json_object_get(meta, META_CAPABILITIES));
		call->log_level = level ? mcp_level_find(level) : MCP_EMERGENCY + 1;
	} else {
		call->version = peer->version ? peer->version : VERSION_LATEST;
		call->capabilities = json_incref(peer->capabilities);
	}
}

/* Why a request cannot be handled at all; NULL: it can. */
static const char *request_fault(const struct mcp_peer *peer, const struct mcp_method *method,
				 const struct mcp_message *message, bool modern, int *ret_code)
{
	*ret_code = MCP_E_INVALID_REQUEST;
	if (!modern && !peer->version && !(method->flags & METHOD_EARLY)) {
		return "initialize must come first";
	}
	if (call_find(peer, message->id)) {
		return "a request with this id is in progress";
	}
	if (peer->calls_count >= peer->server->options.calls_per_client) {
		*ret_code = MCP_E_INTERNAL;
		return "too many requests are in progress: wait for some of them";
	}
	*ret_code = MCP_E_INVALID_PARAMS;
	if (method->name_key &&
	    !json_is_string(json_object_get(message->params, method->name_key))) {
		return strcmp(method->name_key, "uri") == 0 ? "\"uri\" must be a string"
							    : "\"name\" must be a string";
	}
	return NULL;
}

void mcp_peer_request(struct mcp_peer *peer, const struct mcp_message *message, bool modern,
		      struct mcp_channel *channel, struct mcp_channel *base)
{
	int code;
	json_t *data = NULL;
	const char *why = modern ? mcp_modern_check(message, &code, &data) : NULL;

	if (why) {
		mcp_peer_refuse(channel, message->id, code, 400, data, why);
		return;
	}
	const struct mcp_method *method = mcp_method_find(message->method, modern);
	if (!method) {
		mcp_peer_refuse(channel, message->id, MCP_E_METHOD_NOT_FOUND, modern ? 404 : 200,
				NULL, "Method not found");
		return;
	}
	why = request_fault(peer, method, message, modern, &code);
	if (why) {
		mcp_peer_refuse(channel, message->id, code, 200, NULL, why);
		return;
	}
	struct mcp_call *call = call_new(peer, message);
	if (!call) {
		mcp_peer_refuse(channel, message->id, MCP_E_INTERNAL, 500, NULL, "out of memory");
		return;
	}
	call->channel = channel;
	call->base = base;
	call->method = method;
	call_identify(call, peer, modern);
	if (!modern || mcp_question_resume(call)) {
		method->handle(call);
	}
}

static void peer_notified(struct mcp_peer *peer, const struct mcp_message *message)
{
	if (strcmp(message->method, "notifications/cancelled") == 0) {
		const json_t *id = json_object_get(message->params, "requestId");
		struct mcp_call *call = id ? call_find(peer, id) : NULL;
		if (call) {
			mcp_call_cancel(call);
		} else if (id) {
			mcp_batch_cancel(peer, id);
		}
	}
	/* All others are informational and not used; unknown ones are ignored. */
}

bool mcp_peer_message(struct mcp_peer *peer, json_t *value, struct mcp_channel *channel,
		      struct mcp_channel *base)
{
	struct mcp_message message;
	const char *why;

	if (!mcp_message_read(value, &message, &why)) {
		mcp_peer_refuse(channel, message.id, MCP_E_INVALID_REQUEST, 400, NULL, why);
		return true;
	}
	switch (message.kind) {
	case MCP_REQUEST:
		mcp_peer_request(peer, &message, mcp_message_is_modern(&message), channel, base);
		return true;
	case MCP_NOTIFICATION:
		peer_notified(peer, &message);
		return false;
	default:
		mcp_question_answered(peer, &message);
		return false;
	}
}

bool mcp_peer_receive(struct mcp_peer *peer, json_t *root, struct mcp_channel *channel)
{
	return json_is_array(root) ? mcp_batch_receive(peer, root, channel)
				   : mcp_peer_message(peer, root, channel, channel);
}
