/* SPDX-License-Identifier: Apache-2.0 */
/* Reading piece by piece: see hash_pieces.h. */
#include "run/files/hash_pieces.h"

#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"

#define PIECE_BYTES (64u << 10) /* about a fifth of a millisecond */

void hash_pieces_begin(struct hash_pieces *pieces)
{
	pieces->at = 0;
	sha256_init(&pieces->hash);
}

void hash_pieces_done(struct hash_pieces *pieces)
{
	if (!pieces->borrowed) {
		close_fd(&pieces->fd);
	}
	pieces->fd = -1;
}

static int read_piece(struct hash_pieces *pieces, size_t size)
{
	char chunk[PIECE_BYTES];
	char *to = pieces->into ? pieces->into + pieces->at : chunk;
	ssize_t n;

	do {
		n = pread(pieces->fd, to, size, (off_t)pieces->at);
	} while (n < 0 && errno == EINTR);
	if (n < 0) {
		return -errno;
	}
	if (n == 0) {
		/* Shorter than before. A file that is only hashed is hashed as it is. */
		return pieces->into ? -EIO : 1;
	}
	sha256_add(&pieces->hash, to, (size_t)n);
	pieces->at += (uint64_t)n;
	return 0;
}

int hash_pieces_step(struct hash_pieces *pieces)
{
	uint64_t left = pieces->size - pieces->at;
	size_t size = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;

	if (left > 0 && pieces->fd >= 0) {
		int r = read_piece(pieces, size);
		if (r != 0) {
			return r;
		}
	} else if (left > 0) {
		sha256_add(&pieces->hash, pieces->from + pieces->at, size);
		pieces->at += size;
	}
	return pieces->at == pieces->size ? 1 : 0;
}
