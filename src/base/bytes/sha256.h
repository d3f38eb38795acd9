/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 by libsodium. */
#ifndef BRIG_BASE_SHA256_H
#define BRIG_BASE_SHA256_H

#include <sodium/crypto_hash_sha256.h>
#include <stddef.h>
#include <stdint.h>

#define SHA256_HEX_SIZE 65

struct sha256 {
	crypto_hash_sha256_state state;
};

void sha256_init(struct sha256 *hash);
void sha256_add(struct sha256 *hash, const void *data, size_t size);
/* A field with its length in front, so that ("ab","c") and ("a","bc") differ. */
void sha256_add_field(struct sha256 *hash, const void *data, size_t size);
/* Hashes a whole open file, whatever its offset; returns its size in bytes, or -errno. */
int64_t sha256_fd(int fd, char hex[SHA256_HEX_SIZE]);
void sha256_hex(struct sha256 *hash, char hex[SHA256_HEX_SIZE]);
#endif
