/* SPDX-License-Identifier: Apache-2.0 */
/* Which bytes are allowed where: RFC 9110 (tokens, values), RFC 3986 (targets, hosts). */
#ifndef BRIG_HTTP1_CHARACTERS_H
#define BRIG_HTTP1_CHARACTERS_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Each byte has one class; the rows of states.c consist of sets of classes. */
enum character_class {
	CLASS_CONTROL = 1 << 0,
	CLASS_TAB = 1 << 1,
	CLASS_LF = 1 << 2,
	CLASS_CR = 1 << 3,
	CLASS_BLANK = 1 << 4,
	CLASS_COLON = 1 << 5,
	CLASS_SEMICOLON = 1 << 6,
	CLASS_EQUALS = 1 << 7,
	CLASS_QUOTE = 1 << 8,
	CLASS_BACKSLASH = 1 << 9,
	CLASS_DIGIT = 1 << 10,
	CLASS_HEX_LETTER = 1 << 11,
	CLASS_LETTER = 1 << 12, /* the other letters */
	CLASS_MARK = 1 << 13,   /* allowed in a token, besides letters and digits */
	CLASS_OTHER = 1 << 14,  /* all other visible characters */
	CLASS_HIGH = 1 << 15,   /* above 0x7f */

	CLASSES_HEX = CLASS_DIGIT | CLASS_HEX_LETTER,
	CLASSES_ALPHANUMERIC = CLASSES_HEX | CLASS_LETTER,
	CLASSES_TOKEN = CLASSES_ALPHANUMERIC | CLASS_MARK,
	CLASSES_SPACE = CLASS_BLANK | CLASS_TAB,
	CLASSES_VISIBLE = CLASSES_TOKEN | CLASS_COLON | CLASS_SEMICOLON | CLASS_EQUALS |
			  CLASS_QUOTE | CLASS_BACKSLASH | CLASS_OTHER,
	/* In a header's value; whether bytes above 0x7f form valid UTF-8 is not checked here. */
	CLASSES_VALUE = CLASSES_VISIBLE | CLASSES_SPACE | CLASS_HIGH,
};

extern const uint16_t character_classes[256];

static inline bool character_is(unsigned char c, unsigned classes)
{
	return character_classes[c] & classes;
}

static inline bool character_is_digit(unsigned char c)
{
	return c >= '0' && c <= '9';
}

/* -1: not a hexadecimal digit. */
static inline int character_hex(unsigned char c)
{
	if (character_is_digit(c)) {
		return c - '0';
	}
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static inline bool character_is_alphanumeric(unsigned char c)
{
	return character_is(c, CLASSES_ALPHANUMERIC);
}

static inline bool character_is_token(unsigned char c)
{
	return character_is(c, CLASSES_TOKEN);
}

static inline bool character_is_space(unsigned char c)
{
	return character_is(c, CLASSES_SPACE);
}

static inline bool character_is_value(unsigned char c)
{
	return character_is(c, CLASSES_VALUE);
}

/* In a path, besides escapes and "/". */
static inline bool character_is_path(unsigned char c)
{
	return character_is_alphanumeric(c) || (c && strchr("-._~!$&'()*+,;=:@", c));
}

/* In a query, besides escapes. */
static inline bool character_is_query(unsigned char c)
{
	return character_is_path(c) || c == '/' || c == '?';
}

/* In a host's name, besides escapes. */
static inline bool character_is_host(unsigned char c)
{
	return character_is_alphanumeric(c) || (c && strchr("-._~", c));
}

static inline bool character_all_tokens(const char *text)
{
	for (const char *at = text; *at; at++) {
		if (!character_is_token((unsigned char)*at)) {
			return false;
		}
	}
	return *text != '\0';
}

static inline bool character_all_values(const char *text)
{
	for (const char *at = text; *at; at++) {
		if (!character_is_value((unsigned char)*at)) {
			return false;
		}
	}
	return true;
}
#endif
