/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON from a source that may be hostile: depth and number of values are checked before jansson,
 * which recurses and allocates, parses any of it.
 *
 * Large texts consist mostly of long strings, and jansson reads them byte by byte. So in large
 * texts they are extracted first: jansson parses the rest, with a mark in place of each, and then
 * they are put back. The result is the same.
 */
#ifndef BRIG_BASE_JSON_JSON_BOUNDED_H
#define BRIG_BASE_JSON_JSON_BOUNDED_H

#include <jansson.h>
#include <stdbool.h>

struct json_bounds {
	unsigned depth;   /* of nesting */
	size_t values;    /* commas, colons and brackets: each costs a node of memory */
	size_t plain_max; /* bytes besides long strings; 0: no limit */
	bool allow_nul;   /* in strings */
};

enum json_refusal_kind {
	JSON_NOT_JSON, /* see `code`, `text` and, for a short text, line and column */
	JSON_TOO_DEEP,
	JSON_TOO_MANY,
	JSON_NO_MEMORY,
};

struct json_refusal {
	enum json_refusal_kind kind;
	enum json_error_code code;
	int line, column; /* 0: unknown */
	char text[160];
};

/* Any array or object, without duplicate keys. NULL: the reason is in `why` (which may be NULL). */
json_t *json_bounded_load(const char *text, size_t size, const struct json_bounds *bounds,
			  struct json_refusal *why);

/*
 * Decodes the text between a string's quotes. `out` has room for as many bytes as the text has.
 * json_error_unknown: no error.
 */
enum json_error_code json_string_decode(const char *text, size_t size, bool allow_nul, char *out,
					size_t *ret_size, const char **ret_why);

struct json_part {
	size_t taken, size; /* bytes of the text, and of the decoded string */
	enum json_error_code code;
	const char *why;
};

/*
 * The same for a text that arrives in parts. Unless it is the final one, bytes that may continue in
 * the next part are not consumed: at most eleven bytes, which must be passed again. False: code and
 * why.
 */
bool json_string_decode_part(const char *text, size_t size, bool final, bool allow_nul, char *out,
			     struct json_part *part);
#endif
