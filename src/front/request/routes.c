/* SPDX-License-Identifier: Apache-2.0 */
/* The table of routes, and finding the route of a path. */
#include "front/request/routes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "front/front_internal.h"
#include "http/http_limits.h"

static const struct route routes[] = {
	{ "POST", "/v1/execute", false, ROUTE_JSON, UPLOAD_RUN, handle_execute },
	{ "POST", "/v1/executions", false, ROUTE_JSON, UPLOAD_QUEUED, handle_executions_post },
	{ "GET", "/v1/executions", false, ROUTE_NO_BODY, UPLOAD_NONE, handle_executions_list },
	{ "GET", "/v1/executions/{}", false, ROUTE_NO_BODY, UPLOAD_NONE, handle_execution_get },
	{ "DELETE", "/v1/executions/{}", false, ROUTE_EMPTY, UPLOAD_NONE, handle_execution_cancel },
	{ "GET", "/v1/executions/{}/events", false, ROUTE_NO_BODY, UPLOAD_NONE,
	  handle_execution_events },
	{ "POST", "/v1/batch", false, ROUTE_JSON, UPLOAD_RUN, handle_batch },
	{ "POST", "/v1/sessions", false, ROUTE_JSON, UPLOAD_RUN, handle_session_open },
	{ "GET", "/v1/sessions", false, ROUTE_NO_BODY, UPLOAD_NONE, handle_session_list },
	{ "GET", "/v1/sessions/{}", false, ROUTE_NO_BODY, UPLOAD_NONE, handle_session_get },
	{ "DELETE", "/v1/sessions/{}", false, ROUTE_EMPTY, UPLOAD_NONE, handle_session_close },
	{ "POST", "/v1/sessions/{}/execute", false, ROUTE_JSON, UPLOAD_RUN,
	  handle_session_execute },
	{ "POST", "/v1/sessions/{}/interrupt", false, ROUTE_EMPTY, UPLOAD_NONE,
	  handle_session_interrupt },
	{ "POST", "/v1/sessions/{}/fork", false, ROUTE_EMPTY, UPLOAD_NONE, handle_session_fork },
	{ "GET", "/v1/sessions/{}/files", false, ROUTE_NO_BODY, UPLOAD_NONE, handle_file_list },
	{ "GET", "/v1/sessions/{}/files/{*}", false, ROUTE_NO_BODY, UPLOAD_NONE, handle_file_get },
	{ "PUT", "/v1/sessions/{}/files/{*}", false, ROUTE_BYTES, UPLOAD_BYTES, handle_file_put },
	{ "DELETE", "/v1/sessions/{}/files/{*}", false, ROUTE_EMPTY, UPLOAD_NONE,
	  handle_file_delete },
	{ "GET", "/v1/runtimes", false, ROUTE_NO_BODY, UPLOAD_NONE, handle_runtimes },
	{ "GET", "/v1/policies", false, ROUTE_NO_BODY, UPLOAD_NONE, handle_policies },
	{ "POST", "/v1/policies/check", false, ROUTE_JSON, UPLOAD_RUN, handle_policy_check },
	{ "GET", "/v1/health", true, ROUTE_NO_BODY, UPLOAD_NONE, handle_health },
	{ "HEAD", "/v1/health", true, ROUTE_NO_BODY, UPLOAD_NONE, handle_health },
	{ "GET", "/v1/queue", false, ROUTE_NO_BODY, UPLOAD_NONE, handle_queue },
	{ "POST", "/v1/queue/release", false, ROUTE_EMPTY, UPLOAD_NONE, handle_queue_release },
	{ "POST", "/v1/queue/drop", false, ROUTE_EMPTY, UPLOAD_NONE, handle_queue_drop },
	{ "GET", "/metrics", false, ROUTE_NO_BODY, UPLOAD_NONE, handle_metrics },
	{ "GET", "/openapi.json", false, ROUTE_NO_BODY, UPLOAD_NONE, handle_openapi },
	{ "POST", "/api/sandbox/execute", false, ROUTE_JSON, UPLOAD_LEGACY, handle_legacy },
	{ "POST", "/mcp", false, ROUTE_JSON, UPLOAD_MCP, handle_mcp },
	{ "GET", "/mcp", false, ROUTE_NO_BODY, UPLOAD_NONE, handle_mcp },
	{ "DELETE", "/mcp", false, ROUTE_EMPTY, UPLOAD_NONE, handle_mcp },
};

size_t route_body_max(const struct front *front, const struct route *route, const char **ret_name)
{
	static const size_t none = 0, empty = LIMIT_EMPTY_BODY;
	const struct {
		const char *name;
		const size_t *most;
	} limits[] = {
		[ROUTE_NO_BODY] = { NULL, &none },
		[ROUTE_EMPTY] = { NULL, &empty },
		[ROUTE_JSON] = { "http.json_bytes", &front->limits.json_bytes },
		[ROUTE_BYTES] = { "http.file_bytes", &front->limits.file_bytes },
	};

	*ret_name = limits[route->body].name;
	return *limits[route->body].most;
}

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
			       char allowed[64])
{
	struct found found;
	size_t used = 0;

	allowed[0] = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
		if (!fits(routes[i].pattern, path, &found)) {
			continue;
		}
		if (strcmp(routes[i].method, method) == 0) {
			for (unsigned j = 0; j < found.count; j++) {
				args[j] = strndup(found.at[j], found.size[j]);
			}
			return &routes[i];
		}
		used += (size_t)snprintf(allowed + used, 64 - used, "%s%s", used ? ", " : "",
					 routes[i].method);
	}
	return NULL;
}
