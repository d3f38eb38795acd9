/* SPDX-License-Identifier: Apache-2.0 */
/* Strict UTF-8. */
#include "base/bytes/utf8.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/json/json_out.h"

/*
 * The bytes that may follow each first byte. The range of the second byte excludes overlong forms
 * (E0, F0), surrogates (ED) and everything above U+10FFFF (F4).
 */
static const struct lead {
	unsigned char first, last;
	unsigned char second_low, second_high;
	unsigned char size;
	unsigned char mask;
} leads[] = {
	{ 0xc2, 0xdf, 0x80, 0xbf, 2, 0x1f }, { 0xe0, 0xe0, 0xa0, 0xbf, 3, 0x0f },
	{ 0xe1, 0xec, 0x80, 0xbf, 3, 0x0f }, { 0xed, 0xed, 0x80, 0x9f, 3, 0x0f },
	{ 0xee, 0xef, 0x80, 0xbf, 3, 0x0f }, { 0xf0, 0xf0, 0x90, 0xbf, 4, 0x07 },
	{ 0xf1, 0xf3, 0x80, 0xbf, 4, 0x07 }, { 0xf4, 0xf4, 0x80, 0x8f, 4, 0x07 },
};

static const struct lead *lead_find(unsigned char byte)
{
	for (size_t i = 0; i < ARRAY_SIZE(leads); i++) {
		if (byte >= leads[i].first && byte <= leads[i].last) {
			return &leads[i];
		}
	}
	return NULL;
}

bool utf8_decode(const char *data, size_t size, size_t *used, uint32_t *ret)
{
	const unsigned char *bytes = (const unsigned char *)data;

	*used = 1;
	if (bytes[0] < 0x80) {
		*ret = bytes[0];
		return true;
	}
	*ret = 0xfffd;
	const struct lead *lead = lead_find(bytes[0]);
	if (!lead) {
		return false;
	}
	uint32_t c = bytes[0] & lead->mask;
	for (size_t i = 1; i < lead->size; i++) {
		unsigned char low = i == 1 ? lead->second_low : 0x80;
		unsigned char high = i == 1 ? lead->second_high : 0xbf;
		if (i >= size || bytes[i] < low || bytes[i] > high) {
			return false;
		}
		c = c << 6 | (bytes[i] & 0x3f);
		*used = i + 1;
	}
	*ret = c;
	return true;
}

size_t utf8_write(uint32_t c, char out[4])
{
	static const unsigned char marks[] = { 0, 0, 0xc0, 0xe0, 0xf0 };
	size_t size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (size_t i = size - 1; i > 0; i--) {
		out[i] = (char)(0x80 | (c & 0x3f));
		c >>= 6;
	}
	out[0] = (char)(marks[size] | c);
	return size;
}

bool utf8_valid(const char *data, size_t size)
{
	size_t used;
	uint32_t c;

	for (size_t i = 0; i < size; i += used) {
		uint64_t word;
		/* Output of programs is mostly ASCII: eight bytes at a time. */
		while (size - i >= sizeof(word)) {
			memcpy(&word, data + i, sizeof(word));
			if (word & UINT64_C(0x8080808080808080)) {
				break;
			}
			i += sizeof(word);
		}
		if (i == size) {
			break;
		}
		if (!utf8_decode(data + i, size - i, &used, &c)) {
			return false;
		}
	}
	return true;
}
