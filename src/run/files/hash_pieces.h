/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and hashes a file, or bytes in memory, piece by piece, so that no step takes long. */
#ifndef BRIG_RUN_FILES_HASH_PIECES_H
#define BRIG_RUN_FILES_HASH_PIECES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes/sha256.h"

struct hash_pieces {
	int fd;           /* owned, unless borrowed; -1: the bytes are in memory */
	const char *from; /* borrowed: the bytes, if there is no file */
	char *into;       /* borrowed: where the bytes are stored; NULL: they are only hashed */
	uint64_t size;    /* all of it must be there if the bytes are stored */
	uint64_t at;
	bool borrowed;
	struct sha256 hash;
};

void hash_pieces_begin(struct hash_pieces *pieces);
/* 1: that was the last piece; 0: there are more; -errno. */
int hash_pieces_step(struct hash_pieces *pieces);
void hash_pieces_done(struct hash_pieces *pieces);
#endif
