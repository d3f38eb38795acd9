/* SPDX-License-Identifier: Apache-2.0 */
/* Tools, resources, prompts, completion: the methods of both eras. */
#include <string.h>

#include "base/bytes/buf.h"
#include "mcp/mcp_internal.h"
#include "mcp/mcp_limits.h"
#include "mcp/mcp_schema.h"

static bool offered(struct mcp_call *call, bool has)
{
	if (!has) {
		mcp_call_fail(call, MCP_E_METHOD_NOT_FOUND, NULL, "Method not found");
	}
	return has;
}

/* The lists have one page. */
static void finish_list(struct mcp_call *call, const char *key, json_t *list)
{
	if (json_object_get(call->params, "cursor")) {
		mcp_call_fail(call, MCP_E_INVALID_PARAMS, NULL, "\"cursor\" is not valid");
	} else {
		mcp_call_finish(call, json_pack("{s:O}", key, list));
	}
}

/* "arguments", {} if there are none; NULL: the call has failed. */
static const json_t *arguments_of(struct mcp_call *call)
{
	json_t *arguments = json_object_get(call->params, "arguments");

	if (!arguments) {
		arguments = json_object();
		json_object_set_new(call->params, "arguments", arguments);
	}
	if (!json_is_object(arguments)) {
		mcp_call_fail(call, MCP_E_INVALID_PARAMS, NULL, "\"arguments\" must be an object");
		return NULL;
	}
	return arguments;
}

void mcp_handle_tools_list(struct mcp_call *call)
{
	if (offered(call, call->server->provider->tools_count)) {
		finish_list(call, "tools", call->server->tools);
	}
}

/*
 * From 2025-11-25 on the model gets the error and can correct it; before that the client gets it.
 */
static void refuse_arguments(struct mcp_call *call, const char *tool, const struct buf *why)
{
	const char *text = why->data ? why->data : "the arguments are invalid";

	if (mcp_version_from(call->version, "2025-11-25")) {
		mcp_call_finish_text(call, true, "%s: %s.", tool, text);
	} else {
		mcp_call_fail(call, MCP_E_INVALID_PARAMS, NULL, "%s: %s", tool, text);
	}
}

void mcp_handle_tools_call(struct mcp_call *call)
{
	const char *name = mcp_call_name(call);
	const json_t *schema;
	const struct mcp_tool *tool = mcp_tool_find(call->server, name, &schema);
	struct buf why = { 0 };

	if (!offered(call, call->server->provider->tools_count)) {
		return;
	}
	if (!tool) {
		mcp_call_fail(call, MCP_E_INVALID_PARAMS, NULL, "Unknown tool: %.128s", name);
		return;
	}
	unsigned lacking = tool->needs & ~mcp_abilities(call->capabilities);
	if (lacking) {
		mcp_call_lacks(call, lacking);
		return;
	}
	const json_t *arguments = arguments_of(call);
	if (!arguments) {
		return;
	}
	if (mcp_schema_check(schema, arguments, &why)) {
		tool->call(call->server->provider->user, call, arguments);
	} else {
		refuse_arguments(call, tool->name, &why);
	}
	buf_done(&why);
}

void mcp_handle_resources_list(struct mcp_call *call)
{
	const struct mcp_provider *p = call->server->provider;

	if (!offered(call, p->read != NULL)) {
		return;
	}
	if (p->list) {
		p->list(p->user, call, json_string_value(json_object_get(call->params, "cursor")));
	} else {
		finish_list(call, "resources", call->server->resources);
	}
}

void mcp_handle_templates_list(struct mcp_call *call)
{
	if (offered(call, call->server->provider->read != NULL)) {
		finish_list(call, "resourceTemplates", call->server->templates);
	}
}

void mcp_handle_resources_read(struct mcp_call *call)
{
	const struct mcp_provider *p = call->server->provider;
	const char *uri = mcp_call_name(call);

	if (!offered(call, p->read != NULL)) {
		return;
	}
	if (strlen(uri) > MCP_URI_MAX) {
		mcp_call_fail(call, MCP_E_INVALID_PARAMS, NULL, "\"uri\" is too long");
		return;
	}
	p->read(p->user, call, uri);
}

void mcp_handle_prompts_list(struct mcp_call *call)
{
	if (offered(call, call->server->provider->prompts_count)) {
		finish_list(call, "prompts", call->server->prompts);
	}
}

static const struct mcp_prompt *prompt_find(const struct mcp_provider *p, const char *name)
{
	for (size_t i = 0; i < p->prompts_count; i++) {
		if (strcmp(p->prompts[i].name, name) == 0) {
			return &p->prompts[i];
		}
	}
	return NULL;
}

/* The argument that is missing or not a string; NULL: all are valid. */
static const char *prompt_fault(const struct mcp_prompt *prompt, const json_t *arguments)
{
	for (size_t i = 0; i < prompt->arguments_count; i++) {
		const struct mcp_prompt_argument *one = &prompt->arguments[i];
		const json_t *value = json_object_get(arguments, one->name);
		if (value ? !json_is_string(value) : one->required) {
			return one->name;
		}
	}
	return NULL;
}

/* The argument that is too long; NULL: none is. */
static const char *prompt_excess(const struct mcp_prompt *prompt, const json_t *arguments)
{
	for (size_t i = 0; i < prompt->arguments_count; i++) {
		const char *name = prompt->arguments[i].name;
		if (json_string_length(json_object_get(arguments, name)) >
		    MCP_PROMPT_ARGUMENT_MAX) {
			return name;
		}
	}
	return NULL;
}

void mcp_handle_prompts_get(struct mcp_call *call)
{
	const struct mcp_provider *p = call->server->provider;
	const struct mcp_prompt *prompt = prompt_find(p, mcp_call_name(call));

	if (!offered(call, p->prompts_count)) {
		return;
	}
	if (!prompt) {
		mcp_call_fail(call, MCP_E_INVALID_PARAMS, NULL, "Unknown prompt: %.128s",
			      mcp_call_name(call));
		return;
	}
	const json_t *arguments = arguments_of(call);
	if (!arguments) {
		return;
	}
	const char *fault = prompt_fault(prompt, arguments);
	if (fault) {
		mcp_call_fail(call, MCP_E_INVALID_PARAMS, NULL,
			      "argument \"%s\" is required, and must be a string", fault);
		return;
	}
	const char *excess = prompt_excess(prompt, arguments);
	if (excess) {
		mcp_call_fail(
			call, MCP_E_INVALID_PARAMS, NULL,
			"argument \"%s\" has %zu bytes, and a prompt's at most %d: shorten it",
			excess, json_string_length(json_object_get(arguments, excess)),
			MCP_PROMPT_ARGUMENT_MAX);
		return;
	}
	prompt->get(p->user, call, arguments);
}

void mcp_handle_complete(struct mcp_call *call)
{
	const struct mcp_provider *p = call->server->provider;
	const json_t *ref = json_object_get(call->params, "ref");
	const json_t *argument = json_object_get(call->params, "argument");
	const char *name = json_string_value(json_object_get(argument, "name"));
	const char *value = json_string_value(json_object_get(argument, "value"));

	if (!offered(call, p->complete != NULL)) {
		return;
	}
	if (!json_is_string(json_object_get(ref, "type")) || !name || !value) {
		mcp_call_fail(call, MCP_E_INVALID_PARAMS, NULL,
			      "completion needs \"ref\" with a type, and \"argument\" with name "
			      "and value");
		return;
	}
	p->complete(p->user, call, ref, name, value);
}
