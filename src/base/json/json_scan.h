/* SPDX-License-Identifier: Apache-2.0 */
/* The first scan of a JSON text, before jansson parses it. Private to json_in. */
#ifndef BRIG_BASE_JSON_JSON_SCAN_H
#define BRIG_BASE_JSON_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>

struct json_fault {
	size_t at;           /* byte offset */
	const char *message; /* static */
	const char *remedy;  /* static */
};

/*
 * Copies `in` to `out` (size + 1 bytes) with comments blanked: each character of one becomes a
 * space, newlines stay, so every other character keeps its line and column. Linear, no recursion.
 */
bool json_scan(const char *in, size_t size, char *out, size_t *ret_size, struct json_fault *fault);
#endif
