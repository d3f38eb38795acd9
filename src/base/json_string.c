/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON string's characters, eight at a time where nothing stands in the way. */
#include <stdint.h>
#include <string.h>

#include "base/json_bounded.h"
#include "base/utf8.h"

#define BYTES(value) (UINT64_C(0x0101010101010101) * (value))

/* Is any of these eight bytes a control character, a backslash, or not ASCII? */
static bool has_special(uint64_t word)
{
	uint64_t slashes = word ^ BYTES('\\');

	/* The usual trick: a byte borrows from its highest bit when it is less. */
	return (word & BYTES(0x80)) || ((word - BYTES(0x20)) & ~word & BYTES(0x80)) ||
	       ((slashes - BYTES(1)) & ~slashes & BYTES(0x80));
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9') {
		return c - '0';
	}
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* \uXXXX at text[0]; -1: it is none. */
static int32_t read_unit(const char *text, size_t size)
{
	int32_t value = 0;

	if (size < 6 || text[0] != '\\' || text[1] != 'u') {
		return -1;
	}
	for (int i = 2; i < 6; i++) {
		int digit = hex_digit(text[i]);
		if (digit < 0) {
			return -1;
		}
		value = value << 4 | digit;
	}
	return value;
}

/* How many bytes of the text it took; 0: it is no character. Surrogates come in pairs. */
static size_t read_unicode(const char *text, size_t size, uint32_t *ret)
{
	int32_t first = read_unit(text, size);

	if (first < 0 || (first >= 0xdc00 && first <= 0xdfff)) {
		return 0;
	}
	*ret = (uint32_t)first;
	if (first < 0xd800 || first > 0xdbff) {
		return 6;
	}
	int32_t second = read_unit(text + 6, size - 6);
	if (second < 0xdc00 || second > 0xdfff) {
		return 0;
	}
	*ret = 0x10000 + (((uint32_t)first - 0xd800) << 10) + ((uint32_t)second - 0xdc00);
	return 12;
}

/* An escape: how many bytes of the text it took; 0: it is none. */
static size_t read_escape(const char *text, size_t size, uint32_t *ret)
{
	static const char names[] = "\"\\/bfnrt";
	static const char values[] = "\"\\/\b\f\n\r\t";
	const char *found = size > 1 && text[1] ? strchr(names, text[1]) : NULL;

	if (found) {
		*ret = (uint32_t)values[found - names];
		return 2;
	}
	return read_unicode(text, size, ret);
}

enum json_error_code json_string_decode(const char *text, size_t size, bool allow_nul, char *out,
					size_t *ret_size, const char **ret_why)
{
	size_t at = 0, used = 0, took;
	uint64_t word;
	uint32_t c;

	while (at < size) {
		if (size - at >= sizeof(word)) {
			memcpy(&word, text + at, sizeof(word));
			if (!has_special(word)) {
				memcpy(out + used, &word, sizeof(word));
				at += sizeof(word);
				used += sizeof(word);
				continue;
			}
		}
		if ((unsigned char)text[at] < 0x20) {
			*ret_why = "control character in a string";
			return json_error_invalid_syntax;
		}
		if (text[at] == '\\') {
			took = read_escape(text + at, size - at, &c);
			if (took == 0) {
				*ret_why = "invalid escape in a string";
				return json_error_invalid_syntax;
			}
			if (c == 0 && !allow_nul) {
				*ret_why = "\\u0000 in a string is not allowed";
				return json_error_null_character;
			}
			used += utf8_write(c, out + used);
		} else {
			if (!utf8_decode(text + at, size - at, &took, &c)) {
				*ret_why = "a string is not UTF-8";
				return json_error_invalid_utf8;
			}
			memcpy(out + used, text + at, took);
			used += took;
		}
		at += took;
	}
	*ret_size = used;
	return json_error_unknown;
}
