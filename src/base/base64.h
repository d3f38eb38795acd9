/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Base64, standard alphabet with padding. For what is long and no secret: libsodium's takes the
 * same time for every byte, and that is much longer.
 */
#ifndef BRIG_BASE_BASE64_H
#define BRIG_BASE_BASE64_H

#include <stdbool.h>
#include <stddef.h>

/*
 * `out` has room for size / 4 * 3 bytes. False: blanks, other letters, no padding, or bits left
 * over.
 */
bool base64_decode(const char *text, size_t size, unsigned char *out, size_t *ret_size);

/* The same for a text that comes in parts. Zero-initialise it. */
struct base64_stream {
	char four[4]; /* letters that are not decoded yet */
	unsigned have;
	bool padded; /* the last four have come */
	bool wrong;  /* those in `four` are no base64, or something follows the last four */
};

/*
 * How many letters it took: all, unless `wrong`. What was decoded stands for the letters before
 * those in `four`, exactly. `out` has room for (size + 3) / 4 * 3 bytes.
 */
size_t base64_stream_take(struct base64_stream *stream, const char *text, size_t size,
			  unsigned char *out, size_t *ret_size);
/* Is what came a whole text? */
bool base64_stream_whole(const struct base64_stream *stream);
#endif
