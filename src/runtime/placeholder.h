/* SPDX-License-Identifier: Apache-2.0 */
/* The {words} that argv templates and closure entries may contain. */
#ifndef BRIG_RUNTIME_PLACEHOLDER_H
#define BRIG_RUNTIME_PLACEHOLDER_H

#include <stdbool.h>

#include "base/bytes/buf.h"

enum placeholder {
	PLACEHOLDER_PROGRAM,
	PLACEHOLDER_PREFIX,
	PLACEHOLDER_REALNAME,
	PLACEHOLDER_MULTIARCH,
	PLACEHOLDER_SOURCE,
	PLACEHOLDER_OUTPUT,
	PLACEHOLDER_MAIN,
	PLACEHOLDER_MEMORY_MB,
	PLACEHOLDER_HEAP_MB,
	PLACEHOLDER_ARGS,
	PLACEHOLDER_DRIVER,
	PLACEHOLDER_COUNT,
};

enum placeholder_place { PLACE_ARGV = 1, PLACE_CLOSURE = 2, PLACE_WARM = 4, PLACE_VALUE = 8 };

const char *placeholder_name(enum placeholder placeholder);

/*
 * Does `text` contain only words that are allowed in this place? A brace that does not start a word
 * of small letters stands for itself. On failure `bad` gets the word, cut to its size.
 */
bool placeholder_check(const char *text, enum placeholder_place place, char *bad, size_t size);
bool placeholder_used(const char *text, enum placeholder placeholder);

/* Values by enum placeholder; NULL: no value, and its use is -ENOENT with `missing` set. */
int placeholder_expand(const char *text, const char *const values[PLACEHOLDER_COUNT],
		       struct buf *ret, enum placeholder *missing);
#endif
