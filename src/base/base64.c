/* SPDX-License-Identifier: Apache-2.0 */
/* Base64: see base64.h. */
#include "base/base64.h"

#include <stdint.h>
#include <string.h>

#define NONE 0xff

static void make_table(unsigned char table[256])
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789+/";

	memset(table, NONE, 256);
	for (unsigned char i = 0; i < 64; i++) {
		table[(unsigned char)letters[i]] = i;
	}
}

/* Four letters; false: one of them is none. */
static bool decode_four(const unsigned char table[256], const char *text, unsigned char out[3])
{
	unsigned char a = table[(unsigned char)text[0]], b = table[(unsigned char)text[1]];
	unsigned char c = table[(unsigned char)text[2]], d = table[(unsigned char)text[3]];

	out[0] = (unsigned char)(a << 2 | b >> 4);
	out[1] = (unsigned char)(b << 4 | c >> 2);
	out[2] = (unsigned char)(c << 6 | d);
	return !((a | b | c | d) & 0x80);
}

bool base64_decode(const char *text, size_t size, unsigned char *out, size_t *ret_size)
{
	unsigned char table[256];
	size_t padding = 0, at = 0, used = 0;
	char last[4] = "AAAA";
	unsigned char three[3];

	*ret_size = 0;
	if (size % 4 != 0 || size == 0) {
		return size == 0;
	}
	padding = text[size - 1] != '=' ? 0 : text[size - 2] != '=' ? 1 : 2;
	make_table(table);
	for (; at + 4 < size; at += 4, used += 3) {
		if (!decode_four(table, text + at, out + used)) {
			return false;
		}
	}
	/* The last four, with zeros in place of the padding: they must leave no bits. */
	memcpy(last, text + at, 4 - padding);
	if (!decode_four(table, last, three) || (padding > 0 && three[2] != 0) ||
	    (padding > 1 && three[1] != 0)) {
		return false;
	}
	memcpy(out + used, three, 3 - padding);
	*ret_size = used + 3 - padding;
	return true;
}
