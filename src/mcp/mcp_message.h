/* SPDX-License-Identifier: Apache-2.0 */
/* JSON-RPC 2.0, as restricted by MCP: strict reading and writing of messages. */
#ifndef BRIG_MCP_MCP_MESSAGE_H
#define BRIG_MCP_MCP_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mcp_kind { MCP_REQUEST, MCP_NOTIFICATION, MCP_RESPONSE };

/* One message; everything in it is borrowed from the parsed value. */
struct mcp_message {
	enum mcp_kind kind;
	json_t *id; /* string or integer; in a request and a response */
	const char *method;
	json_t *params; /* an object, or NULL */
	json_t *result; /* of a response: this or error */
	json_t *error;
};

/*
 * Parses a message or a batch. NULL: *ret_why is the reason. Strict: UTF-8, no duplicate keys,
 * nothing after it, bounded depth and number of values.
 */
json_t *mcp_message_load(const char *text, size_t size, size_t size_max, const char **ret_why);
struct json_refusal;
/* The same message for a text that was parsed elsewhere. */
const char *mcp_message_refused(const struct json_refusal *refusal);
/* False: not a message, *ret_why is the reason; ret->id is set if it could be read. */
bool mcp_message_read(json_t *value, struct mcp_message *ret, const char **ret_why);

/* All take over their arguments except `id`, and return NULL without memory. */
json_t *mcp_message_result(json_t *id, json_t *result);
json_t *mcp_message_error(json_t *id, int code, const char *text, json_t *data);
json_t *mcp_message_notification(const char *method, json_t *params);
json_t *mcp_message_request(uint64_t id, const char *method, json_t *params);

/* One line, without the newline; the caller frees it. NULL without memory. */
char *mcp_message_text(const json_t *message, size_t *ret_size);
#endif
