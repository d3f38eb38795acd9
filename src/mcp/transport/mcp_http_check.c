/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the headers of a request: they must name this server (DNS rebinding), and match its body.
 */
#include <math.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes/buf.h"
#include "mcp/transport/mcp_http_internal.h"

#define NAME_MAX_BYTES 256
#define BASE64         "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="

/* Is it one of the server's names, with any port or none? */
static bool authority_ours(const struct mcp_http *http, const char *authority)
{
	char name[NAME_MAX_BYTES];
	const char *end = authority[0] == '[' ? strchr(authority, ']') : NULL;
	size_t size = end ? (size_t)(end + 1 - authority) : strcspn(authority, ":");
	const char *port = authority + size;

	if (size == 0 || size >= sizeof(name) ||
	    (port[0] && (port[0] != ':' || strspn(port + 1, "0123456789") != strlen(port + 1)))) {
		return false;
	}
	memcpy(name, authority, size);
	name[size] = '\0';
	for (char *const *host = http->hosts; *host; host++) {
		if (strcasecmp(*host, name) == 0) {
			return true;
		}
	}
	return false;
}

bool mcp_host_allowed(const struct mcp_http *http, struct mcp_http_exchange *exchange)
{
	const char *host = exchange->class->header(exchange, "Host");
	const char *origin = exchange->class->header(exchange, "Origin");

	if (!exchange->local && (!host || !authority_ours(http, host))) {
		return false;
	}
	if (!origin) {
		return true;
	}
	const char *authority = strncasecmp(origin, "http://", 7) == 0    ? origin + 7
				: strncasecmp(origin, "https://", 8) == 0 ? origin + 8
									  : NULL;
	return authority && authority_ours(http, authority);
}

/*
 * The text of a header's value, decoded if it is marked as encoded; NULL: no such header, or
 * malformed.
 */
static char *header_text(struct mcp_http_exchange *exchange, const char *name)
{
	const char *value = exchange->class->header(exchange, name);

	if (!value) {
		return NULL;
	}
	value += strspn(value, " \t");
	size_t size = strlen(value);
	while (size > 0 && strchr(" \t", value[size - 1])) {
		size--;
	}
	if (size < 11 || strncmp(value, "=?base64?", 9) != 0 ||
	    strncmp(value + size - 2, "?=", 2) != 0) {
		for (size_t i = 0; i < size; i++) {
			if ((value[i] < 0x20 && value[i] != '\t') || value[i] == 0x7f) {
				return NULL;
			}
		}
		return strndup(value, size);
	}
	/* libsodium takes bytes above 127 as letters. */
	if (strspn(value + 9, BASE64) < size - 11) {
		return NULL;
	}
	size_t used;
	char *text = malloc(size);
	if (text && sodium_base642bin((unsigned char *)text, size - 1, value + 9, size - 11, NULL,
				      &used, NULL, sodium_base64_VARIANT_ORIGINAL) < 0) {
		free(text);
		return NULL;
	}
	if (text) {
		text[used] = '\0';
	}
	return text;
}

static bool expect(struct mcp_http_exchange *exchange, const char *name, const char *wanted,
		   struct buf *why)
{
	char *text = header_text(exchange, name);
	bool same = text && wanted && strcmp(text, wanted) == 0;

	if (!same) {
		buf_addf(why, "Header mismatch: %s %s", name,
			 text ? "does not match the body" : "is missing or malformed");
	}
	free(text);
	return same;
}

/* 7 and 7.0 are the same. */
static bool number_matches(struct mcp_http_exchange *exchange, const char *name,
			   const json_t *value, struct buf *why)
{
	char *text = header_text(exchange, name);
	char *end = NULL;
	double number = text && text[0] ? strtod(text, &end) : 0;
	bool same = end && !*end && json_is_number(value) &&
		    fabs(number - json_number_value(value)) < 1e-9;

	if (!same) {
		buf_addf(why, "Header mismatch: %s does not match the body", name);
	}
	free(text);
	return same;
}

/* A parameter that must be in a header as well. */
static bool parameter_matches(struct mcp_http_exchange *exchange, const char *header,
			      const json_t *value, struct buf *why)
{
	char name[NAME_MAX_BYTES];

	snprintf(name, sizeof(name), "Mcp-Param-%s", header);
	if (!value || json_is_null(value)) {
		if (exchange->class->header(exchange, name)) {
			buf_addf(why, "Header mismatch: %s has no value in the body", name);
			return false;
		}
		return true;
	}
	if (json_is_string(value)) {
		return expect(exchange, name, json_string_value(value), why);
	}
	if (json_is_boolean(value)) {
		return expect(exchange, name, json_is_true(value) ? "true" : "false", why);
	}
	return number_matches(exchange, name, value, why);
}

/* Follows the schema, which is the server's own. */
static bool parameters_match(struct mcp_http_exchange *exchange, const json_t *schema,
			     const json_t *value, struct buf *why)
{
	const char *key;
	json_t *part;

	json_object_foreach(json_object_get(schema, "properties"), key, part)
	{
		const char *header = json_string_value(json_object_get(part, "x-mcp-header"));
		const json_t *member = json_object_get(value, key);
		if ((header && !parameter_matches(exchange, header, member, why)) ||
		    !parameters_match(exchange, part, member, why)) {
			return false;
		}
	}
	return true;
}

bool mcp_headers_match(struct mcp_server *server, struct mcp_http_exchange *exchange,
		       const struct mcp_message *message, struct buf *why)
{
	const json_t *meta = json_object_get(message->params, "_meta");
	const json_t *version = json_object_get(meta, META_VERSION);
	const struct mcp_method *method = mcp_method_find(message->method, true);
	const json_t *schema;

	/* A member that is missing in the body is reported as missing. */
	if (json_is_string(version) &&
	    !expect(exchange, "MCP-Protocol-Version", json_string_value(version), why)) {
		return false;
	}
	if (!expect(exchange, "Mcp-Method", message->method, why)) {
		return false;
	}
	const char *name =
		method && method->name_key
			? json_string_value(json_object_get(message->params, method->name_key))
			: NULL;
	if (!name) {
		return true;
	}
	if (!expect(exchange, "Mcp-Name", name, why)) {
		return false;
	}
	return strcmp(message->method, "tools/call") != 0 ||
	       !mcp_tool_find(server, name, &schema) ||
	       parameters_match(exchange, schema, json_object_get(message->params, "arguments"),
				why);
}
