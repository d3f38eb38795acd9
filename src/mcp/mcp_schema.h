/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Validates a value by the part of JSON Schema that tools use: type, const, enum, properties,
 * required, additionalProperties, items, minItems, maxItems, minimum, maximum, minLength,
 * maxLength. Other keywords are for the client and are not checked here.
 */
#ifndef BRIG_MCP_MCP_SCHEMA_H
#define BRIG_MCP_MCP_SCHEMA_H

#include <jansson.h>
#include <stdbool.h>

#include "base/bytes/buf.h"

/*
 * `schema` is trusted, `value` is not. False: *why gets a sentence that names the argument, such as
 * `argument "files[2].name" must be a string`.
 */
bool mcp_schema_check(const json_t *schema, const json_t *value, struct buf *why);
#endif
