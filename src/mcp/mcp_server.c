/* SPDX-License-Identifier: Apache-2.0 */
/* A server: its tables, checked and prepared once; notifying clients of changes. */
#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "base/cleanup.h"
#include "mcp/mcp_internal.h"

#define MESSAGE_BYTES (32u << 20)
#define STATE_NS      (600ull * 1000000000)

static const char *const list_names[] = {
	[MCP_TOOLS] = "notifications/tools/list_changed",
	[MCP_PROMPTS] = "notifications/prompts/list_changed",
	[MCP_RESOURCES] = "notifications/resources/list_changed",
};

static bool tool_name_valid(const char *name)
{
	size_t size = name ? strlen(name) : 0;

	return size >= 1 && size <= 128 &&
	       strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-") ==
		       size;
}

/* A JSON text of the provider: an object, or an error in the program. NULL stays NULL. */
static int own_json(const char *name, const char *what, const char *text, json_t **ret,
		    struct brig_error *error)
{
	json_error_t fault;

	*ret = NULL;
	if (!text) {
		return 0;
	}
	*ret = json_loads(text, JSON_REJECT_DUPLICATES, &fault);
	if (!json_is_object(*ret)) {
		json_decref(*ret);
		*ret = NULL;
		return error_set(error, BRIG_E_INPUT, EINVAL,
				 "MCP tool %s: its %s is not a JSON object", name, what);
	}
	return 0;
}

/* The schemas of a tool and its annotations; NULL where it has none. */
struct tool_parts {
	json_t *input, *output, *annotations;
};

static void tool_parts_done(struct tool_parts *parts)
{
	json_decref(parts->input);
	json_decref(parts->output);
	json_decref(parts->annotations);
}

static int read_parts(const struct mcp_tool *tool, struct tool_parts *ret, struct brig_error *error)
{
	const char *name = tool->name;
	int r = own_json(name, "input schema", tool->input_schema, &ret->input, error);

	r = r < 0 ? r : own_json(name, "output schema", tool->output_schema, &ret->output, error);
	r = r < 0 ? r : own_json(name, "annotations", tool->annotations, &ret->annotations, error);
	if (r < 0) {
		return r;
	}
	const char *type = json_string_value(json_object_get(ret->input, "type"));
	if (!type || strcmp(type, "object") != 0) {
		return error_set(error, BRIG_E_INPUT, EINVAL,
				 "MCP tool %s: its input schema must have \"type\":\"object\"",
				 name);
	}
	return 0;
}

static int add_tool(json_t *list, const struct mcp_tool *tool, struct brig_error *error)
{
	_cleanup_(tool_parts_done)
	struct tool_parts parts = { 0 };

	if (!tool_name_valid(tool->name)) {
		return error_set(error, BRIG_E_INPUT, EINVAL,
				 "\"%s\" is not a valid name for an MCP tool",
				 tool->name ? tool->name : "");
	}
	int r = read_parts(tool, &parts, error);
	if (r < 0) {
		return r;
	}
	json_t *item =
		json_pack("{s:s, s:s*, s:s*, s:O, s:O*, s:O*}", "name", tool->name, "title",
			  tool->title, "description", tool->description, "inputSchema", parts.input,
			  "outputSchema", parts.output, "annotations", parts.annotations);
	return json_array_append_new(list, item) < 0
		       ? error_errno(error, BRIG_E_SYSTEM, ENOMEM, "MCP tool %s", tool->name)
		       : 0;
}

static void add_resource(struct mcp_server *server, const struct mcp_resource *resource)
{
	bool template = strchr(resource->uri, '{') != NULL;

	json_array_append_new(template ? server->templates : server->resources,
			      json_pack("{s:s, s:s, s:s*, s:s*, s:s*}",
					template ? "uriTemplate" : "uri", resource->uri, "name",
					resource->name, "title", resource->title, "description",
					resource->description, "mimeType", resource->mime_type));
}

static void add_prompt(struct mcp_server *server, const struct mcp_prompt *prompt)
{
	json_t *arguments = prompt->arguments_count ? json_array() : NULL;

	for (size_t i = 0; i < prompt->arguments_count; i++) {
		const struct mcp_prompt_argument *argument = &prompt->arguments[i];
		json_array_append_new(arguments,
				      json_pack("{s:s, s:s*, s:b}", "name", argument->name,
						"description", argument->description, "required",
						argument->required));
	}
	json_array_append_new(server->prompts,
			      json_pack("{s:s, s:s*, s:s*, s:o*}", "name", prompt->name, "title",
					prompt->title, "description", prompt->description,
					"arguments", arguments));
}

static int server_offer(struct mcp_server *server, struct brig_error *error)
{
	const struct mcp_provider *provider = server->provider;

	server->info = json_pack("{s:s, s:s*, s:s}", "name", provider->name, "title",
				 provider->title, "version", provider->version);
	server->all_tools = json_array();
	server->tools = json_array();
	server->resources = json_array();
	server->templates = json_array();
	server->prompts = json_array();
	for (size_t i = 0; i < provider->tools_count; i++) {
		int r = add_tool(server->all_tools, &provider->tools[i], error);
		if (r < 0) {
			return r;
		}
		if (!provider->tools[i].hidden) {
			json_array_append(server->tools, json_array_get(server->all_tools, i));
		}
	}
	for (size_t i = 0; i < provider->resources_count; i++) {
		add_resource(server, &provider->resources[i]);
	}
	for (size_t i = 0; i < provider->prompts_count; i++) {
		add_prompt(server, &provider->prompts[i]);
	}
	bool whole = server->info && server->prompts &&
		     json_array_size(server->prompts) == provider->prompts_count &&
		     json_array_size(server->resources) + json_array_size(server->templates) ==
			     provider->resources_count;
	return whole ? 0
		     : error_set(error, BRIG_E_INPUT, EINVAL,
				 "MCP: the server's tables are incomplete");
}

static void set_options(struct mcp_server *server, const struct mcp_options *options)
{
	struct mcp_options *o = &server->options;

	*o = options ? *options : (struct mcp_options){ 0 };
	o->message_bytes = o->message_bytes ? o->message_bytes : MESSAGE_BYTES;
	o->calls_per_client = o->calls_per_client ? o->calls_per_client : 64;
	o->listeners = o->listeners ? o->listeners : 256;
	o->listeners_per_tenant = o->listeners_per_tenant ? o->listeners_per_tenant : 16;
	o->state_ns = o->state_ns ? o->state_ns : STATE_NS;
	if (o->key) {
		memcpy(server->key, o->key, sizeof(server->key));
	} else {
		randombytes_buf(server->key, sizeof(server->key));
	}
	o->key = NULL;
}

int mcp_server_new(struct loop *loop, const struct mcp_provider *provider,
		   const struct mcp_options *options, struct mcp_server **ret,
		   struct brig_error *error)
{
	if (sodium_init() < 0) {
		return error_set(error, BRIG_E_SYSTEM, EIO, "libsodium does not start");
	}
	struct mcp_server *server = calloc(1, sizeof(*server));
	if (!server) {
		return error_errno(error, BRIG_E_SYSTEM, ENOMEM, "MCP");
	}
	server->loop = loop;
	server->provider = provider;
	set_options(server, options);
	server->batches_due = (struct loop_timer){ .due = mcp_batches_due, .user = server };
	int r = server_offer(server, error);
	if (r < 0) {
		mcp_server_free(server);
		return r;
	}
	*ret = server;
	return 0;
}

void mcp_server_free(struct mcp_server *server)
{
	if (!server) {
		return;
	}
	while (server->peers) {
		mcp_peer_done(server->peers);
	}
	loop_timer_clear(&server->batches_due);
	json_decref(server->info);
	json_decref(server->all_tools);
	json_decref(server->tools);
	json_decref(server->resources);
	json_decref(server->templates);
	json_decref(server->prompts);
	sodium_memzero(server->key, sizeof(server->key));
	free(server);
}

const struct mcp_tool *mcp_tool_find(const struct mcp_server *server, const char *name,
				     const json_t **ret_schema)
{
	for (size_t i = 0; i < server->provider->tools_count; i++) {
		if (strcmp(server->provider->tools[i].name, name) == 0) {
			*ret_schema = json_object_get(json_array_get(server->all_tools, i),
						      "inputSchema");
			return &server->provider->tools[i];
		}
	}
	return NULL;
}

json_t *mcp_server_capabilities(const struct mcp_server *server)
{
	const struct mcp_provider *p = server->provider;
	json_t *all = json_object();

	if (p->tools_count) {
		json_object_set_new(all, "tools",
				    json_pack("{s:b}", "listChanged", p->tools_change));
	}
	if (p->read) {
		json_object_set_new(all, "resources",
				    json_pack("{s:b, s:b}", "subscribe", p->resources_watch,
					      "listChanged", p->resources_change));
	}
	if (p->prompts_count) {
		json_object_set_new(all, "prompts",
				    json_pack("{s:b}", "listChanged", p->prompts_change));
	}
	if (p->complete) {
		json_object_set_new(all, "completions", json_object());
	}
	if (p->log) {
		json_object_set_new(all, "logging", json_object());
	}
	return all;
}

bool mcp_watch_wants(const struct mcp_watch *watch, const char *uri)
{
	size_t i;
	const json_t *one;

	json_array_foreach(watch->uris, i, one)
	{
		if (strcmp(json_string_value(one), uri) == 0) {
			return true;
		}
	}
	return false;
}

void mcp_watch_done(struct mcp_watch *watch)
{
	json_decref(watch->uris);
	*watch = (struct mcp_watch){ 0 };
}

static void notify_peer(struct mcp_peer *peer, const char *method, const char *uri)
{
	json_t *params = uri ? json_pack("{s:s}", "uri", uri) : NULL;
	json_t *message = mcp_message_notification(method, params);

	if (message) {
		peer->general->class->send(peer->general, message, true);
	}
	json_decref(message);
}

static void notify_listener(struct mcp_call *call, const char *method, const char *uri)
{
	mcp_call_send(
		call, method,
		json_pack("{s:s*, s:{s:O}}", "uri", uri, "_meta", META_SUBSCRIPTION, call->id),
		true);
}

/* uri NULL: the list has changed. */
static void notify(struct mcp_peer *peer, enum mcp_list list, const char *method, const char *uri)
{
	if (peer->version && peer->general && (!uri || mcp_watch_wants(&peer->watch, uri))) {
		notify_peer(peer, method, uri);
	}
	for (struct mcp_call *call = peer->calls; call; call = call->next) {
		if (call->kind == CALL_LISTENING &&
		    (uri ? mcp_watch_wants(&call->watch, uri) : call->watch.lists[list])) {
			notify_listener(call, method, uri);
		}
	}
}

void mcp_server_changed(struct mcp_server *server, enum mcp_list list)
{
	for (struct mcp_peer *peer = server->peers; peer; peer = peer->next) {
		notify(peer, list, list_names[list], NULL);
	}
}

void mcp_server_updated(struct mcp_server *server, const char *tenant, const char *uri)
{
	for (struct mcp_peer *peer = server->peers; peer; peer = peer->next) {
		if (!tenant || strcmp(tenant, peer->tenant) == 0) {
			notify(peer, MCP_RESOURCES, "notifications/resources/updated", uri);
		}
	}
}
