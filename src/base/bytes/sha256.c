/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 by libsodium, with fields that cannot be confused. */
#include "base/bytes/sha256.h"

#include <errno.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

void sha256_init(struct sha256 *hash)
{
	crypto_hash_sha256_init(&hash->state);
}

void sha256_add(struct sha256 *hash, const void *data, size_t size)
{
	/* An empty field may be NULL, which must not be passed to libsodium's memcpy. */
	if (size > 0) {
		crypto_hash_sha256_update(&hash->state, data, size);
	}
}

void sha256_add_field(struct sha256 *hash, const void *data, size_t size)
{
	unsigned char length[8];

	/* Little-endian on every host: hashes are kept in caches and audit records. */
	for (size_t i = 0; i < sizeof(length); i++) {
		length[i] = (unsigned char)((uint64_t)size >> (8 * i));
	}
	sha256_add(hash, length, sizeof(length));
	sha256_add(hash, data, size);
}

void sha256_hex(struct sha256 *hash, char hex[SHA256_HEX_SIZE])
{
	static const char digits[] = "0123456789abcdef";
	unsigned char sum[crypto_hash_sha256_BYTES];

	crypto_hash_sha256_final(&hash->state, sum);
	for (size_t i = 0; i < sizeof(sum); i++) {
		hex[2 * i] = digits[sum[i] >> 4];
		hex[2 * i + 1] = digits[sum[i] & 15];
	}
	hex[2 * sizeof(sum)] = '\0';
}

int64_t sha256_fd(int fd, char hex[SHA256_HEX_SIZE])
{
	struct sha256 hash;
	char chunk[16384];
	off_t at = 0;

	sha256_init(&hash);
	for (;;) {
		ssize_t n = pread(fd, chunk, sizeof(chunk), at);
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n < 0) {
			return -errno;
		}
		if (n == 0) {
			break;
		}
		sha256_add(&hash, chunk, (size_t)n);
		at += n;
	}
	sha256_hex(&hash, hex);
	return at;
}
