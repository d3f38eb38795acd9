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
#endif
