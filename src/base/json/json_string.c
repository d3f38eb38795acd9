/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes the characters of a JSON string, eight at a time where possible. */
#include <stdint.h>
#include <string.h>

#include "base/bytes/utf8.h"
#include "base/json/json_bounded.h"

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

/* \uXXXX at text[0]; -1: it is not. */
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

/*
 * Returns how many bytes of the text were consumed; 0: not a character. Surrogates come in pairs.
 */
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

/* An escape: how many bytes of the text were consumed; 0: invalid. */
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

/* The longest character: an escaped pair of surrogates, or four bytes. */
#define ESCAPE_MAX 12
#define BYTES_MAX  4

/* It may continue in the next part. */
static bool is_cut(const char *text, size_t left, bool final)
{
	return !final && left < (text[0] == '\\' ? ESCAPE_MAX : BYTES_MAX) &&
	       (text[0] == '\\' || (unsigned char)text[0] >= 0x80);
}

/* One character that is not a plain byte: how many bytes of the text were consumed; 0: *ret_why. */
static size_t decode_special(const char *text, size_t size, bool allow_nul, char *out,
			     size_t *ret_used, struct json_part *part)
{
	uint32_t c;
	size_t took;

	if (text[0] == '\\') {
		took = read_escape(text, size, &c);
		if (took == 0 || (c == 0 && !allow_nul)) {
			part->code = took ? json_error_null_character : json_error_invalid_syntax;
			part->why = took ? "\\u0000 in a string is not allowed"
					 : "invalid escape in a string";
			return 0;
		}
		*ret_used = utf8_write(c, out);
		return took;
	}
	if ((unsigned char)text[0] < 0x20) {
		part->code = json_error_invalid_syntax;
		part->why = "control character in a string";
		return 0;
	}
	if (!utf8_decode(text, size, &took, &c)) {
		part->code = json_error_invalid_utf8;
		part->why = "a string is not UTF-8";
		return 0;
	}
	memcpy(out, text, took);
	*ret_used = took;
	return took;
}

bool json_string_decode_part(const char *text, size_t size, bool final, bool allow_nul, char *out,
			     struct json_part *part)
{
	size_t at = 0, used = 0, more = 0;
	uint64_t word;

	*part = (struct json_part){ .code = json_error_unknown };
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
		if (is_cut(text + at, size - at, final)) {
			break;
		}
		size_t took =
			decode_special(text + at, size - at, allow_nul, out + used, &more, part);
		if (took == 0) {
			return false;
		}
		at += took;
		used += more;
	}
	part->taken = at;
	part->size = used;
	return true;
}

enum json_error_code json_string_decode(const char *text, size_t size, bool allow_nul, char *out,
					size_t *ret_size, const char **ret_why)
{
	struct json_part part;

	if (!json_string_decode_part(text, size, true, allow_nul, out, &part)) {
		*ret_why = part.why;
		return part.code;
	}
	*ret_size = part.size;
	return json_error_unknown;
}
