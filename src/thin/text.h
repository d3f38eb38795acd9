/* SPDX-License-Identifier: Apache-2.0 */
/* Strings without the C library. */
#ifndef BRIG_THIN_TEXT_H
#define BRIG_THIN_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* The compiler may call these two by itself: here they are functions of our own. */
/* NOLINTBEGIN(readability-redundant-declaration): with other names for the linker */
void *memcpy(void *to, const void *from, size_t size) __asm__("thin_memcpy");
void *memset(void *to, int byte, size_t size) __asm__("thin_memset");
/* NOLINTEND(readability-redundant-declaration) */

static inline size_t text_length(const char *text)
{
	size_t length = 0;

	while (text[length]) {
		length++;
	}
	return length;
}

/* NULL: it begins otherwise; else what follows. */
static inline const char *text_after(const char *text, const char *start)
{
	while (*start) {
		if (*text++ != *start++) {
			return NULL;
		}
	}
	return text;
}

static inline bool text_same(const char *a, const char *b)
{
	const char *rest = text_after(a, b);

	return rest && !*rest;
}

static inline bool text_has(const char *text, const char *part)
{
	for (; *text; text++) {
		if (text_after(text, part)) {
			return true;
		}
	}
	return false;
}

/* A text that is put together in a room of fixed size, always ended by a NUL. */
struct line {
	char *text;
	size_t room, size;
	bool full;
};

static inline void line_add(struct line *line, const char *text)
{
	for (; *text; text++) {
		if (line->size + 1 >= line->room) {
			line->full = true;
			return;
		}
		line->text[line->size++] = *text;
		line->text[line->size] = '\0';
	}
}

static inline void line_number(struct line *line, unsigned long number)
{
	char digits[24];
	size_t at = sizeof(digits) - 1;

	digits[at] = '\0';
	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	line_add(line, digits + at);
}
#endif
