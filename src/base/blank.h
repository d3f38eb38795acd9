/* SPDX-License-Identifier: Apache-2.0 */
/* Checks for text without content. */
#ifndef BRIG_BASE_BLANK_H
#define BRIG_BASE_BLANK_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Longer code counts as a program: so checking it never takes long. */
#define BLANK_BYTES_MAX ((size_t)64 << 10)

/* Empty, or only white space; a NUL counts as content. */
static inline bool text_is_blank(const char *text, size_t size)
{
	if (size > BLANK_BYTES_MAX) {
		return false;
	}
	for (size_t i = 0; i < size; i++) {
		if (text[i] == '\0' || !strchr(" \t\n\v\f\r", text[i])) {
			return false;
		}
	}
	return true;
}
#endif
