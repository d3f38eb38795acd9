/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and replaces {words} in templates. */
#include "runtime/placeholder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define WORD_MAX 16

static const struct {
	const char *name;
	unsigned places;
} placeholders[PLACEHOLDER_COUNT] = {
	[PLACEHOLDER_PROGRAM] = { "program",
				  PLACE_ARGV | PLACE_CLOSURE | PLACE_WARM | PLACE_VALUE },
	[PLACEHOLDER_PREFIX] = { "prefix", PLACE_ARGV | PLACE_CLOSURE | PLACE_WARM | PLACE_VALUE },
	[PLACEHOLDER_REALNAME] = { "realname", PLACE_CLOSURE },
	[PLACEHOLDER_MULTIARCH] = { "multiarch", PLACE_CLOSURE },
	[PLACEHOLDER_SOURCE] = { "source", PLACE_ARGV | PLACE_WARM | PLACE_VALUE },
	[PLACEHOLDER_OUTPUT] = { "output", PLACE_ARGV },
	[PLACEHOLDER_MAIN] = { "main", PLACE_ARGV },
	[PLACEHOLDER_MEMORY_MB] = { "memory_mb", PLACE_ARGV | PLACE_WARM | PLACE_VALUE },
	[PLACEHOLDER_HEAP_MB] = { "heap_mb", PLACE_ARGV | PLACE_WARM | PLACE_VALUE },
	[PLACEHOLDER_ARGS] = { "args", PLACE_ARGV | PLACE_VALUE },
	[PLACEHOLDER_DRIVER] = { "driver", PLACE_WARM | PLACE_VALUE },
};

const char *placeholder_name(enum placeholder placeholder)
{
	return placeholders[placeholder].name;
}

/* Length of the word in "{word}" at `text`, 0 when there is none. */
static size_t word_at(const char *text)
{
	size_t size;

	if (text[0] != '{') {
		return 0;
	}
	size = strspn(text + 1, "abcdefghijklmnopqrstuvwxyz_");
	return text[1 + size] == '}' ? size : 0;
}

static int lookup(const char *word, size_t size)
{
	for (int i = 0; i < PLACEHOLDER_COUNT; i++) {
		if (strlen(placeholders[i].name) == size &&
		    memcmp(placeholders[i].name, word, size) == 0) {
			return i;
		}
	}
	return -1;
}

bool placeholder_check(const char *text, enum placeholder_place place, char *bad, size_t bad_size)
{
	for (; *text; text++) {
		size_t size = word_at(text);
		int found = size ? lookup(text + 1, size) : -1;

		if (size && (found < 0 || !(placeholders[found].places & place))) {
			(void)snprintf(bad, bad_size, "{%.*s}",
				       (int)(size > WORD_MAX ? WORD_MAX : size), text + 1);
			return false;
		}
	}
	return true;
}

bool placeholder_used(const char *text, enum placeholder placeholder)
{
	for (; *text; text++) {
		size_t size = word_at(text);

		if (size && lookup(text + 1, size) == (int)placeholder) {
			return true;
		}
	}
	return false;
}

int placeholder_expand(const char *text, const char *const values[PLACEHOLDER_COUNT],
		       struct buf *ret, enum placeholder *missing)
{
	while (*text) {
		size_t size = word_at(text);
		int found = size ? lookup(text + 1, size) : -1;

		if (found < 0) {
			buf_addc(ret, *text++);
			continue;
		}
		if (!values[found]) {
			*missing = (enum placeholder)found;
			return -ENOENT;
		}
		buf_adds(ret, values[found]);
		text += size + 2;
	}
	return ret->failed ? -ENOMEM : 0;
}
