/* SPDX-License-Identifier: Apache-2.0 */
/* Values: see value.h. The program can write every byte: only strict JSON is a value. */
#include "lib/guard/value.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "run/run.h"

#define DEPTH_MAX 64

/* Counted in the text, because the parser recurses. */
static bool is_shallow(const char *text, size_t size)
{
	unsigned depth = 0;
	bool quoted = false;

	for (size_t i = 0; i < size; i++) {
		char c = text[i];
		if (quoted && c == '\\') {
			i++;
		} else if (c == '"') {
			quoted = !quoted;
		} else if (!quoted && (c == '[' || c == '{')) {
			if (++depth > DEPTH_MAX) {
				return false;
			}
		} else if (!quoted && (c == ']' || c == '}') && depth) {
			depth--;
		}
	}
	return true;
}

/* The text of a value that JSON cannot express: one JSON string of bounded length. */
static char *read_repr(const char *text, size_t size)
{
	json_t *value = json_loadb(text, size, JSON_DECODE_ANY, NULL);
	size_t length = json_string_length(value);
	bool fine = length > 0 && length <= VALUE_REPR_BYTES;
	char *repr = fine ? strndup(json_string_value(value), length) : NULL;

	json_decref(value);
	return repr;
}

char *value_check(const char *text, size_t size, char **ret_repr)
{
	if (size > 0 && size <= RUN_VALUE_BYTES && text[0] == VALUE_REPR_MARK) {
		*ret_repr = read_repr(text + 1, size - 1);
		return NULL;
	}
	if (size == 0 || size > RUN_VALUE_BYTES || !is_shallow(text, size)) {
		return NULL;
	}
	json_t *value = json_loadb(text, size, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, NULL);
	char *clean = value ? json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_ENSURE_ASCII)
			    : NULL;
	json_decref(value);
	return clean;
}

char *value_read(int fd, off_t at, char **ret_repr)
{
	_cleanup_free_ char *text = malloc(RUN_VALUE_BYTES);
	ssize_t n = text ? pread(fd, text, RUN_VALUE_BYTES, at) : -1;

	return n > 0 ? value_check(text, strnlen(text, (size_t)n), ret_repr) : NULL;
}
