/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all supported requests. */
#include <string.h>

#include "base/cleanup.h"
#include "mcp/mcp_internal.h"

#define BOTH (ERA_LEGACY | ERA_MODERN)

static const struct mcp_method methods[] = {
	{ "initialize", ERA_LEGACY, METHOD_EARLY, NULL, mcp_handle_initialize },
	{ "ping", ERA_LEGACY, METHOD_EARLY, NULL, mcp_handle_ping },
	{ "logging/setLevel", ERA_LEGACY, 0, NULL, mcp_handle_set_level },
	{ "resources/subscribe", ERA_LEGACY, 0, NULL, mcp_handle_subscribe },
	{ "resources/unsubscribe", ERA_LEGACY, 0, NULL, mcp_handle_unsubscribe },
	{ "server/discover", ERA_MODERN, METHOD_CACHEABLE, NULL, mcp_handle_discover },
	{ "subscriptions/listen", ERA_MODERN, 0, NULL, mcp_handle_listen },
	{ "tools/list", BOTH, METHOD_CACHEABLE, NULL, mcp_handle_tools_list },
	{ "tools/call", BOTH, METHOD_ASKS, "name", mcp_handle_tools_call },
	{ "resources/list", BOTH, METHOD_CACHEABLE, NULL, mcp_handle_resources_list },
	{ "resources/templates/list", BOTH, METHOD_CACHEABLE, NULL, mcp_handle_templates_list },
	{ "resources/read", BOTH, METHOD_CACHEABLE | METHOD_ASKS, "uri",
	  mcp_handle_resources_read },
	{ "prompts/list", BOTH, METHOD_CACHEABLE, NULL, mcp_handle_prompts_list },
	{ "prompts/get", BOTH, METHOD_ASKS, "name", mcp_handle_prompts_get },
	{ "completion/complete", BOTH, 0, NULL, mcp_handle_complete },
};

const struct mcp_method *mcp_method_find(const char *name, bool modern)
{
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		if (methods[i].eras & (modern ? ERA_MODERN : ERA_LEGACY) &&
		    strcmp(methods[i].name, name) == 0) {
			return &methods[i];
		}
	}
	return NULL;
}
