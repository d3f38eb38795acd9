/* SPDX-License-Identifier: Apache-2.0 */
/* Strict UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF. */
#ifndef BRIG_BASE_UTF8_H
#define BRIG_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Decodes one character from data[0..size), size > 0. True: *ret is the character. False: the bytes
 * are invalid, and *ret is U+FFFD. Either way *used (1 to 4) is how many bytes were consumed: of an
 * invalid sequence the part that could have begun a character, as Unicode recommends for replacing.
 */
bool utf8_decode(const char *data, size_t size, size_t *used, uint32_t *ret);

/*
 * Writes 1 to 4 bytes for a character up to U+10FFFF; returns how many. Not named utf8_encode: the
 * static jansson has a function of that name.
 */
size_t utf8_write(uint32_t c, char out[4]);

/* Continuation bytes are those that do not begin a character: columns do not count them. */
static inline bool utf8_continues(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}
#endif
