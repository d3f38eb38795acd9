/* SPDX-License-Identifier: Apache-2.0 */
/* JSON with bounds: see json_bounded.h. */
#include "ledger/json_bounded.h"

#include <errno.h>
#include <stdbool.h>

/* Before jansson sees it: it recurses, and makes an object in memory of each value. */
static bool within_bounds(const char *text, size_t size)
{
	unsigned depth = 0, values = 0;
	bool quoted = false;

	for (size_t i = 0; i < size; i++) {
		char c = text[i];

		if (quoted) {
			i += c == '\\';
			quoted = c != '"';
		} else if (c == '"') {
			quoted = true;
		} else if (c == '{' || c == '[') {
			values++;
			if (++depth > JSON_BOUNDED_DEPTH) {
				return false;
			}
		} else if ((c == '}' || c == ']') && depth) {
			depth--;
		} else if (c == ',' || c == ':') {
			values++;
		}
		if (values > JSON_BOUNDED_VALUES) {
			return false;
		}
	}
	return true;
}

int json_bounded_load(const char *text, size_t size, json_t **ret)
{
	json_error_t error;

	if (!within_bounds(text, size)) {
		return -EPROTO;
	}
	json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
	if (!root) {
		return json_error_code(&error) == json_error_out_of_memory ? -ENOMEM : -EPROTO;
	}
	if (!json_is_object(root)) {
		json_decref(root);
		return -EPROTO;
	}
	*ret = root;
	return 0;
}

char *json_canonical(const json_t *value)
{
	return json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS);
}
