/* Which bytes may stand where: RFC 9110 (tokens, values), RFC 3986 (targets, hosts). */
#ifndef BRIG_HTTP_CHARACTERS_H
#define BRIG_HTTP_CHARACTERS_H

#include <stdbool.h>
#include <string.h>

/* Not <ctype.h>: that asks the locale. */
static inline bool character_is_digit(unsigned char c)
{
	return c >= '0' && c <= '9';
}

static inline bool character_is_alphanumeric(unsigned char c)
{
	return character_is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
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

static inline bool character_is_token(unsigned char c)
{
	return character_is_alphanumeric(c) || (c && strchr("!#$%&'*+-.^_`|~", c));
}

static inline bool character_is_space(unsigned char c)
{
	return c == ' ' || c == '\t';
}

/* In a header's value; bytes above 0x7f must form UTF-8, which is looked at later. */
static inline bool character_is_value(unsigned char c)
{
	return (c >= 0x20 && c != 0x7f) || c == '\t';
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
