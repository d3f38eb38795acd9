/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the position of a key in a JSON text, for messages. Private to json_in. */
#ifndef BRIG_BASE_JSON_JSON_LOCATE_H
#define BRIG_BASE_JSON_JSON_LOCATE_H

#include <stdbool.h>
#include <stddef.h>

#define JSON_DEPTH_MAX 32

/*
 * The byte offset of the key, or array element, that `path` names in a text without comments.
 * "" is the root value. Any text is safe; false also when it is not JSON or nested too deep.
 */
bool json_locate(const char *text, size_t size, const char *path, size_t *ret);

/* Line and column, from 1, of a byte offset; columns count characters, as editors do. */
void json_position(const char *text, size_t offset, int *line, int *column);
#endif
