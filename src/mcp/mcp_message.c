/* SPDX-License-Identifier: Apache-2.0 */
/* JSON-RPC messages: checks the raw text, parses it with jansson, then checks the shape. */
#include "mcp/mcp_message.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json/json_bounded.h"
#include "mcp/mcp_limits.h"

const char *mcp_message_refused(const struct json_refusal *refusal)
{
	static const struct {
		enum json_error_code code;
		const char *why;
	} reasons[] = {
		{ json_error_duplicate_key, "a key is there twice" },
		{ json_error_invalid_utf8, "not UTF-8" },
		{ json_error_null_character, "a NUL character" },
		{ json_error_null_byte_in_key, "a NUL character" },
	};
	static const char *const kinds[] = {
		[JSON_NOT_JSON] = "not JSON",
		[JSON_TOO_DEEP] = "nested too deep",
		[JSON_TOO_MANY] = "too many values",
		[JSON_NO_MEMORY] = "out of memory",
	};

	for (size_t i = 0; refusal->kind == JSON_NOT_JSON && i < ARRAY_SIZE(reasons); i++) {
		if (reasons[i].code == refusal->code) {
			return reasons[i].why;
		}
	}
	return kinds[refusal->kind];
}

json_t *mcp_message_load(const char *text, size_t size, size_t size_max, const char **ret_why)
{
	static const struct json_bounds bounds = { .depth = MCP_DEPTH_MAX,
						   .values = MCP_VALUES_MAX };
	struct json_refusal refusal = { 0 };

	*ret_why = "too long";
	if (size > size_max) {
		return NULL;
	}
	json_t *root = json_bounded_load(text, size, &bounds, &refusal);
	*ret_why = root ? NULL : mcp_message_refused(&refusal);
	return root;
}

static bool id_valid(const json_t *id)
{
	return json_is_integer(id) || (json_is_string(id) && json_string_length(id) <= MCP_ID_MAX);
}

/* The error of the message as a whole. */
static const char *message_fault(const struct mcp_message *message, const json_t *value)
{
	const json_t *version = json_object_get(value, "jsonrpc");
	const json_t *method = json_object_get(value, "method");
	const json_t *params = json_object_get(value, "params");
	bool has_id = json_object_get(value, "id") != NULL;
	bool responds = message->result || message->error;

	if (!json_is_string(version) || strcmp(json_string_value(version), "2.0") != 0) {
		return "\"jsonrpc\" must be \"2.0\"";
	}
	if (has_id && !message->id) {
		return "\"id\" must be a string of at most 256 characters or an integer";
	}
	if (method ? responds || !json_is_string(method) : !responds) {
		return "needs a \"method\" that is a string, or else \"result\" or \"error\"";
	}
	if (responds && (!has_id || (message->result && message->error))) {
		return "a response needs an \"id\", and either \"result\" or \"error\"";
	}
	if (responds && !json_is_object(message->result ? message->result : message->error)) {
		return "\"result\" and \"error\" must be objects";
	}
	if (params && !json_is_object(params)) {
		return "\"params\" must be an object";
	}
	return NULL;
}

bool mcp_message_read(json_t *value, struct mcp_message *ret, const char **ret_why)
{
	*ret = (struct mcp_message){ 0 };
	if (!json_is_object(value)) {
		*ret_why = "a message must be an object";
		return false;
	}
	json_t *id = json_object_get(value, "id");
	ret->id = id_valid(id) ? id : NULL;
	ret->method = json_string_value(json_object_get(value, "method"));
	ret->params = json_object_get(value, "params");
	ret->result = json_object_get(value, "result");
	ret->error = json_object_get(value, "error");
	*ret_why = message_fault(ret, value);
	if (*ret_why) {
		return false;
	}
	ret->kind = !ret->method ? MCP_RESPONSE : ret->id ? MCP_REQUEST : MCP_NOTIFICATION;
	return true;
}

json_t *mcp_message_result(json_t *id, json_t *result)
{
	return json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", result);
}

json_t *mcp_message_error(json_t *id, int code, const char *text, json_t *data)
{
	/* An id that could not be read is left out: MCP does not allow null there. */
	return json_pack("{s:s, s:O*, s:{s:i, s:s, s:o*}}", "jsonrpc", "2.0", "id", id, "error",
			 "code", code, "message", text, "data", data);
}

json_t *mcp_message_notification(const char *method, json_t *params)
{
	return json_pack("{s:s, s:s, s:o*}", "jsonrpc", "2.0", "method", method, "params", params);
}

json_t *mcp_message_request(uint64_t id, const char *method, json_t *params)
{
	return json_pack("{s:s, s:I, s:s, s:o*}", "jsonrpc", "2.0", "id", (json_int_t)id, "method",
			 method, "params", params);
}

char *mcp_message_text(const json_t *message, size_t *ret_size)
{
	char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;

	*ret_size = text ? strlen(text) : 0;
	return text;
}
