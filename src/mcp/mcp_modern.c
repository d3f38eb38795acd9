/* SPDX-License-Identifier: Apache-2.0 */
/* The modern era (2026-07-28): the metadata of every request, discovery, listening. */
#include <string.h>

#include "mcp/mcp_internal.h"
#include "mcp/mcp_limits.h"

bool mcp_message_is_modern(const struct mcp_message *message)
{
	const json_t *meta = json_object_get(message->params, "_meta");

	/* Either key is enough: a request that lacks the other is refused as a modern one. */
	return json_object_get(meta, META_VERSION) || json_object_get(meta, META_CAPABILITIES) ||
	       strcmp(message->method, "server/discover") == 0 ||
	       strcmp(message->method, "subscriptions/listen") == 0;
}

const char *mcp_modern_check(const struct mcp_message *message, int *ret_code, json_t **ret_data)
{
	const json_t *meta = json_object_get(message->params, "_meta");
	const json_t *version = json_object_get(meta, META_VERSION);
	const json_t *level = json_object_get(meta, META_LOG_LEVEL);

	*ret_code = MCP_E_INVALID_PARAMS;
	*ret_data = NULL;
	if (!json_is_object(meta)) {
		return "params._meta is missing";
	}
	if (!json_is_string(version)) {
		return "params._meta must have " META_VERSION;
	}
	if (!json_is_object(json_object_get(meta, META_CAPABILITIES))) {
		return "params._meta must have " META_CAPABILITIES;
	}
	if (level && mcp_level_find(json_string_value(level)) < 0) {
		return "params._meta: " META_LOG_LEVEL " is not a log level";
	}
	if (!mcp_version_known(json_string_value(version), true)) {
		*ret_code = MCP_E_UNSUPPORTED_VERSION;
		size_t size = json_string_length(version);
		*ret_data =
			json_pack("{s:o, s:o}", "supported", mcp_versions(), "requested",
				  mcp_string(json_string_value(version),
					     size < MCP_VERSION_SHOWN ? size : MCP_VERSION_SHOWN));
		return "Unsupported protocol version";
	}
	return NULL;
}

void mcp_handle_discover(struct mcp_call *call)
{
	mcp_call_finish(call, json_pack("{s:o, s:o, s:s*}", "supportedVersions", mcp_versions(),
					"capabilities", mcp_server_capabilities(call->server),
					"instructions", call->server->provider->instructions));
}

static bool may_listen(const struct mcp_call *call)
{
	const struct mcp_server *server = call->server;
	unsigned own = 0;

	for (const struct mcp_peer *peer = server->peers; peer; peer = peer->next) {
		for (const struct mcp_call *other = peer->calls; other; other = other->next) {
			own += other->kind == CALL_LISTENING &&
			       strcmp(other->tenant, call->tenant) == 0;
		}
	}
	return server->listeners < server->options.listeners &&
	       own < server->options.listeners_per_tenant;
}

/* Reads the supported parts of the filter; only these are acknowledged. */
static json_t *take_filter(struct mcp_call *call, const json_t *filter)
{
	const struct mcp_provider *p = call->server->provider;
	const struct {
		const char *key;
		bool offered;
	} lists[] = {
		[MCP_TOOLS] = { "toolsListChanged", p->tools_change },
		[MCP_PROMPTS] = { "promptsListChanged", p->prompts_change },
		[MCP_RESOURCES] = { "resourcesListChanged", p->resources_change },
	};
	const json_t *uris = json_object_get(filter, "resourceSubscriptions");
	json_t *taken = json_object();
	size_t i;
	json_t *uri;

	for (size_t list = 0; list < 3; list++) {
		call->watch.lists[list] = lists[list].offered &&
					  json_is_true(json_object_get(filter, lists[list].key));
		if (call->watch.lists[list]) {
			json_object_set_new(taken, lists[list].key, json_true());
		}
	}
	if (p->resources_watch && json_is_array(uris)) {
		call->watch.uris = json_array();
		json_array_foreach(uris, i, uri)
		{
			if (i < MCP_WATCHED_MAX && json_is_string(uri) &&
			    json_string_length(uri) <= MCP_URI_MAX) {
				json_array_append(call->watch.uris, uri);
			}
		}
		json_object_set(taken, "resourceSubscriptions", call->watch.uris);
	}
	return taken;
}

void mcp_handle_listen(struct mcp_call *call)
{
	const json_t *filter = json_object_get(call->params, "notifications");

	if (!json_is_object(filter)) {
		mcp_call_fail(call, MCP_E_INVALID_PARAMS, NULL,
			      "\"notifications\" must be an object");
		return;
	}
	if (!may_listen(call)) {
		mcp_call_fail(call, MCP_E_INTERNAL, NULL,
			      "too many subscriptions: end some of them first");
		return;
	}
	json_t *taken = take_filter(call, filter);
	if (!mcp_call_send(call, "notifications/subscriptions/acknowledged",
			   json_pack("{s:{s:O}, s:o}", "_meta", META_SUBSCRIPTION, call->id,
				     "notifications", taken),
			   false)) {
		mcp_call_fail(call, MCP_E_INVALID_REQUEST, NULL,
			      "the client does not accept text/event-stream");
		return;
	}
	call->kind = CALL_LISTENING;
	call->server->listeners++;
}

static struct mcp_call *any_listener(const struct mcp_server *server)
{
	for (const struct mcp_peer *peer = server->peers; peer; peer = peer->next) {
		for (struct mcp_call *call = peer->calls; call; call = call->next) {
			if (call->kind == CALL_LISTENING) {
				return call;
			}
		}
	}
	return NULL;
}

void mcp_server_drain(struct mcp_server *server)
{
	struct mcp_call *call;

	while ((call = any_listener(server))) {
		mcp_call_finish(call, json_pack("{s:{s:O}}", "_meta", META_SUBSCRIPTION, call->id));
	}
}
