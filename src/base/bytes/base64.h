/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Base64, standard alphabet with padding. For long data that is not secret: libsodium's decoder
 * takes the same time for every byte, and is much slower.
 */
#ifndef BRIG_BASE_BASE64_H
#define BRIG_BASE_BASE64_H

#include <stdbool.h>
#include <stddef.h>

/*
 * `out` has room for size / 4 * 3 bytes. False: blanks, invalid letters, no padding, or bits left
 * over.
 */
bool base64_decode(const char *text, size_t size, unsigned char *out, size_t *ret_size);

/* The same for a text that arrives in parts. Zero-initialise it. */
struct base64_stream {
	char four[4]; /* letters that are not decoded yet */
	unsigned have;
	bool padded; /* the last four have arrived */
	bool wrong;  /* those in `four` are not base64, or something follows the last four */
};

/*
 * Returns how many letters were consumed: all, unless `wrong`. The decoded bytes are exactly those
 * of the letters before those in `four`. `out` has room for (size + 3) / 4 * 3 bytes.
 */
size_t base64_stream_take(struct base64_stream *stream, const char *text, size_t size,
			  unsigned char *out, size_t *ret_size);
/* Is the text complete? */
bool base64_stream_whole(const struct base64_stream *stream);
#endif
