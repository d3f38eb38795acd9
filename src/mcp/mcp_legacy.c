/* SPDX-License-Identifier: Apache-2.0 */
/* The legacy era (up to 2025-11-25): initialize, and the state of a client. */
#include <string.h>

#include "mcp/mcp_internal.h"
#include "mcp/mcp_limits.h"

void mcp_handle_initialize(struct mcp_call *call)
{
	struct mcp_peer *peer = call->peer;
	const char *asked = json_string_value(json_object_get(call->params, "protocolVersion"));
	json_t *capabilities = json_object_get(call->params, "capabilities");

	if (!asked || !json_is_object(capabilities)) {
		mcp_call_fail(call, MCP_E_INVALID_PARAMS, NULL,
			      "initialize needs \"protocolVersion\" and \"capabilities\"");
		return;
	}
	if (peer->version) {
		mcp_call_fail(call, MCP_E_INVALID_REQUEST, NULL,
			      "initialize may be sent only once");
		return;
	}
	/*
	 * An unsupported version is answered with the latest one; the client continues or leaves.
	 */
	peer->version = mcp_version_known(asked, false);
	peer->version = peer->version ? peer->version : VERSION_LATEST;
	/* Only the abilities that are asked about: the rest may be as long as a message. */
	peer->capabilities = mcp_abilities_json(mcp_abilities(capabilities));
	mcp_call_finish(call, json_pack("{s:s, s:o, s:O, s:s*}", "protocolVersion", peer->version,
					"capabilities", mcp_server_capabilities(call->server),
					"serverInfo", call->server->info, "instructions",
					call->server->provider->instructions));
}

void mcp_handle_ping(struct mcp_call *call)
{
	mcp_call_finish(call, json_object());
}

void mcp_handle_set_level(struct mcp_call *call)
{
	int level = mcp_level_find(json_string_value(json_object_get(call->params, "level")));

	if (!call->server->provider->log) {
		mcp_call_fail(call, MCP_E_METHOD_NOT_FOUND, NULL, "Method not found");
	} else if (level < 0) {
		mcp_call_fail(call, MCP_E_INVALID_PARAMS, NULL, "\"level\" is not a log level");
	} else {
		call->peer->log_level = (enum mcp_level)level;
		mcp_call_finish(call, json_object());
	}
}

static const char *watched_uri(struct mcp_call *call)
{
	const json_t *uri = json_object_get(call->params, "uri");

	if (!call->server->provider->resources_watch) {
		mcp_call_fail(call, MCP_E_METHOD_NOT_FOUND, NULL, "Method not found");
		return NULL;
	}
	if (!json_is_string(uri) || json_string_length(uri) > MCP_URI_MAX) {
		mcp_call_fail(call, MCP_E_INVALID_PARAMS, NULL,
			      "\"uri\" must be a string of at most %d characters", MCP_URI_MAX);
		return NULL;
	}
	return json_string_value(uri);
}

void mcp_handle_subscribe(struct mcp_call *call)
{
	const char *uri = watched_uri(call);

	if (!uri) {
		return;
	}
	struct mcp_watch *watch = &call->peer->watch;
	if (!mcp_watch_wants(watch, uri)) {
		if (json_array_size(watch->uris) >= MCP_WATCHED_MAX) {
			mcp_call_fail(call, MCP_E_INTERNAL, NULL,
				      "too many subscriptions: at most %d", MCP_WATCHED_MAX);
			return;
		}
		watch->uris = watch->uris ? watch->uris : json_array();
		json_array_append_new(watch->uris, json_string(uri));
	}
	mcp_call_finish(call, json_object());
}

void mcp_handle_unsubscribe(struct mcp_call *call)
{
	const char *uri = watched_uri(call);
	size_t i;
	const json_t *one;

	if (!uri) {
		return;
	}
	json_array_foreach(call->peer->watch.uris, i, one)
	{
		if (strcmp(json_string_value(one), uri) == 0) {
			json_array_remove(call->peer->watch.uris, i);
			break;
		}
	}
	mcp_call_finish(call, json_object());
}
