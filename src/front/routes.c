/* SPDX-License-Identifier: Apache-2.0 */
/* The table of routes, and how a path finds its line. */
#include "front/routes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define SMALL (64u << 10)
/* A run with its files. The front has one thread: while it reads one body, all others wait. */
#define LARGE (16u << 20)
#define FILES (64u << 20)

static const struct route routes[] = {
	{ "POST", "/v1/execute", false, ROUTE_JSON, LARGE, handle_execute },
	{ "POST", "/v1/executions", false, ROUTE_JSON, LARGE, handle_executions_post },
	{ "GET", "/v1/executions", false, ROUTE_NO_BODY, 0, handle_executions_list },
	{ "GET", "/v1/executions/{}", false, ROUTE_NO_BODY, 0, handle_execution_get },
	{ "DELETE", "/v1/executions/{}", false, ROUTE_NO_BODY, 0, handle_execution_cancel },
	{ "GET", "/v1/executions/{}/events", false, ROUTE_NO_BODY, 0, handle_execution_events },
	{ "POST", "/v1/batch", false, ROUTE_JSON, LARGE, handle_batch },
	{ "POST", "/v1/sessions", false, ROUTE_JSON, LARGE, handle_session_open },
	{ "GET", "/v1/sessions", false, ROUTE_NO_BODY, 0, handle_session_list },
	{ "GET", "/v1/sessions/{}", false, ROUTE_NO_BODY, 0, handle_session_get },
	{ "DELETE", "/v1/sessions/{}", false, ROUTE_NO_BODY, 0, handle_session_close },
	{ "POST", "/v1/sessions/{}/execute", false, ROUTE_JSON, LARGE, handle_session_execute },
	{ "POST", "/v1/sessions/{}/interrupt", false, ROUTE_NO_BODY, 0, handle_session_interrupt },
	{ "POST", "/v1/sessions/{}/fork", false, ROUTE_NO_BODY, 0, handle_session_fork },
	{ "GET", "/v1/sessions/{}/files", false, ROUTE_NO_BODY, 0, handle_file_list },
	{ "GET", "/v1/sessions/{}/files/{*}", false, ROUTE_NO_BODY, 0, handle_file_get },
	{ "PUT", "/v1/sessions/{}/files/{*}", false, ROUTE_BYTES, FILES, handle_file_put },
	{ "DELETE", "/v1/sessions/{}/files/{*}", false, ROUTE_NO_BODY, 0, handle_file_delete },
	{ "GET", "/v1/runtimes", false, ROUTE_NO_BODY, 0, handle_runtimes },
	{ "GET", "/v1/policies", false, ROUTE_NO_BODY, 0, handle_policies },
	{ "POST", "/v1/policies/check", false, ROUTE_JSON, LARGE, handle_policy_check },
	{ "GET", "/v1/health", true, ROUTE_NO_BODY, 0, handle_health },
	{ "GET", "/metrics", false, ROUTE_NO_BODY, 0, handle_metrics },
	{ "GET", "/openapi.json", false, ROUTE_NO_BODY, 0, handle_openapi },
	{ "POST", "/api/sandbox/execute", false, ROUTE_JSON, LARGE, handle_legacy },
	{ "POST", "/mcp", false, ROUTE_JSON, LARGE, handle_mcp },
	{ "GET", "/mcp", false, ROUTE_NO_BODY, 0, handle_mcp },
	{ "DELETE", "/mcp", false, ROUTE_NO_BODY, 0, handle_mcp },
};

struct found {
	const char *at[ROUTE_ARGS];
	size_t size[ROUTE_ARGS];
	unsigned count;
};

static bool fits(const char *pattern, const char *path, struct found *ret)
{
	*ret = (struct found){ 0 };
	while (*pattern) {
		if (*pattern != '{') {
			if (*pattern++ != *path++) {
				return false;
			}
			continue;
		}
		bool rest = pattern[1] == '*';
		size_t size = rest ? strlen(path) : strcspn(path, "/");

		if (size == 0 || ret->count == ROUTE_ARGS) {
			return false;
		}
		ret->at[ret->count] = path;
		ret->size[ret->count++] = size;
		path += size;
		pattern += rest ? 3 : 2;
	}
	return *path == '\0';
}

const struct route *route_find(const char *method, const char *path, char *args[ROUTE_ARGS],
			       bool *ret_known, char allowed[64])
{
	struct found found;
	size_t used = 0;

	*ret_known = false;
	allowed[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
		if (!fits(routes[i].pattern, path, &found)) {
			continue;
		}
		*ret_known = true;
		if (strcmp(routes[i].method, method) == 0) {
			for (unsigned j = 0; args && j < found.count; j++) {
				args[j] = strndup(found.at[j], found.size[j]);
			}
			return &routes[i];
		}
		used += (size_t)snprintf(allowed + used, 64 - used, "%s%s", used ? ", " : "",
					 routes[i].method);
	}
	return NULL;
}
