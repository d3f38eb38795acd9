/* SPDX-License-Identifier: Apache-2.0 */
/* Base64: see base64.h. */
#include "base/bytes/base64.h"

#include <string.h>

#define NONE 0xff

/* The value of each letter, from '+' to 'z'; all others are invalid. */
#define FIRST '+'
static const unsigned char values[] = {
	62,   NONE, NONE, NONE, 63,   52,   53, 54, 55, 56, 57, 58, 59, 60, 61, NONE,
	NONE, NONE, NONE, NONE, NONE, NONE, 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,
	10,   11,   12,   13,   14,   15,   16, 17, 18, 19, 20, 21, 22, 23, 24, 25,
	NONE, NONE, NONE, NONE, NONE, NONE, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35,
	36,   37,   38,   39,   40,   41,   42, 43, 44, 45, 46, 47, 48, 49, 50, 51,
};

static unsigned char value_of(char letter)
{
	unsigned at = (unsigned char)letter - (unsigned)FIRST;

	return at < sizeof(values) ? values[at] : NONE;
}

/* Decodes four letters; false: one of them is invalid. */
static bool decode_four(const char *text, unsigned char out[3])
{
	unsigned char a = value_of(text[0]), b = value_of(text[1]);
	unsigned char c = value_of(text[2]), d = value_of(text[3]);

	out[0] = (unsigned char)(a << 2 | b >> 4);
	out[1] = (unsigned char)(b << 4 | c >> 2);
	out[2] = (unsigned char)(c << 6 | d);
	return !((a | b | c | d) & 0x80);
}

/* Decodes the last four, with zeros in place of the padding: no bits may be left. 0: invalid. */
static size_t decode_last(const char four[4], unsigned char *out)
{
	size_t padding = four[3] != '=' ? 0 : four[2] != '=' ? 1 : 2;
	char last[4] = "AAAA";
	unsigned char three[3];

	memcpy(last, four, 4 - padding);
	if (!decode_four(last, three) || (padding > 0 && three[2] != 0) ||
	    (padding > 1 && three[1] != 0)) {
		return 0;
	}
	memcpy(out, three, 3 - padding);
	return 3 - padding;
}

/* Decodes the four collected letters. */
static size_t take_gathered(struct base64_stream *stream, unsigned char *out)
{
	size_t size = stream->padded ? 0 : decode_last(stream->four, out);

	stream->wrong = size == 0;
	if (size) {
		stream->padded = size < 3;
		stream->have = 0;
	}
	return size;
}

size_t base64_stream_take(struct base64_stream *stream, const char *text, size_t size,
			  unsigned char *out, size_t *ret_size)
{
	size_t at = 0, used = 0;

	while (at < size && !stream->wrong) {
		while (stream->have == 0 && !stream->padded && size - at >= 4 &&
		       decode_four(text + at, out + used)) {
			at += 4;
			used += 3;
		}
		while (at < size && stream->have < 4) {
			stream->four[stream->have++] = text[at++];
		}
		if (stream->have == 4) {
			used += take_gathered(stream, out + used);
		}
	}
	*ret_size = used;
	return at;
}

bool base64_stream_whole(const struct base64_stream *stream)
{
	return stream->have == 0 && !stream->wrong;
}

bool base64_decode(const char *text, size_t size, unsigned char *out, size_t *ret_size)
{
	struct base64_stream stream = { 0 };

	*ret_size = 0;
	if (size % 4 != 0) {
		return false;
	}
	base64_stream_take(&stream, text, size, out, ret_size);
	return base64_stream_whole(&stream);
}
