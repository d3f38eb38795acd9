/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON of somebody who may be hostile: bounded in depth and in number of values before jansson,
 * which recurses and allocates, sees any of it.
 *
 * Long strings are what large texts are made of, and jansson takes them byte by byte. So in large
 * texts they are lifted out first: jansson reads what is left, with a mark in place of each, and
 * they are put back as a whole. What comes out is the same.
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
	JSON_NOT_JSON, /* `code`, `text` and, of a short text, line and column say more */
	JSON_TOO_DEEP,
	JSON_TOO_MANY,
	JSON_NO_MEMORY,
};

struct json_refusal {
	enum json_refusal_kind kind;
	enum json_error_code code;
	int line, column; /* 0: not known */
	char text[160];
};

/* Any array or object, without duplicate keys. NULL: `why` (which may be NULL) tells. */
json_t *json_bounded_load(const char *text, size_t size, const struct json_bounds *bounds,
			  struct json_refusal *why);

/*
 * What stands between a string's quotes, decoded. `out` has room for as many bytes as the text has.
 * json_error_unknown: it is fine.
 */
enum json_error_code json_string_decode(const char *text, size_t size, bool allow_nul, char *out,
					size_t *ret_size, const char **ret_why);

struct json_part {
	size_t taken, size; /* of the text, and of what it stands for */
	enum json_error_code code;
	const char *why;
};

/*
 * The same for a text that comes in parts. Unless it is the final one, what may go on in the next
 * is not taken: at most eleven bytes, which are to be given again. False: code and why.
 */
bool json_string_decode_part(const char *text, size_t size, bool final, bool allow_nul, char *out,
			     struct json_part *part);
#endif
