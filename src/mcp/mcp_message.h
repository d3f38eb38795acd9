/* SPDX-License-Identifier: Apache-2.0 */
/* JSON-RPC 2.0, as MCP narrows it: reading messages strictly, and writing them. */
#ifndef BRIG_MCP_MCP_MESSAGE_H
#define BRIG_MCP_MCP_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mcp_kind { MCP_REQUEST, MCP_NOTIFICATION, MCP_RESPONSE };

/* One message; everything in it is borrowed from the value that it was read from. */
struct mcp_message {
	enum mcp_kind kind;
	json_t *id; /* string or integer; of a request and a response */
	const char *method;
	json_t *params; /* an object, or NULL */
	json_t *result; /* of a response: this or error */
	json_t *error;
};

/*
 * The text of a message or of a batch. NULL: *ret_why says what is wrong. Strict: UTF-8, no key
 * twice, nothing behind, depth and number of values bounded.
 */
json_t *mcp_message_load(const char *text, size_t size, size_t size_max, const char **ret_why);
struct json_refusal;
/* The same words for a text that somebody else has read. */
const char *mcp_message_refused(const struct json_refusal *refusal);
/* False: no message, *ret_why says why; ret->id is set when it could be read all the same. */
bool mcp_message_read(json_t *value, struct mcp_message *ret, const char **ret_why);

/* All take over what they are given but `id`, and give NULL without memory. */
json_t *mcp_message_result(json_t *id, json_t *result);
json_t *mcp_message_error(json_t *id, int code, const char *text, json_t *data);
json_t *mcp_message_notification(const char *method, json_t *params);
json_t *mcp_message_request(uint64_t id, const char *method, json_t *params);

/* One line, without the newline; to be free()d. NULL without memory. */
char *mcp_message_text(const json_t *message, size_t *ret_size);
#endif
