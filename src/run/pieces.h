/* SPDX-License-Identifier: Apache-2.0 */
/* A file, or bytes in memory, read and hashed piece by piece: none of them takes long. */
#ifndef BRIG_RUN_PIECES_H
#define BRIG_RUN_PIECES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/sha256.h"

struct pieces {
	int fd;           /* owned, unless borrowed; -1: it is in memory */
	const char *from; /* borrowed: the bytes, where there is no file */
	char *into;       /* borrowed: where the bytes go; NULL: they are only hashed */
	uint64_t size;    /* of which all must be there if they go anywhere */
	uint64_t at;
	bool borrowed;
	struct sha256 hash;
};

void pieces_begin(struct pieces *pieces);
/* 1: that was the last one; 0: there is more; -errno. */
int pieces_step(struct pieces *pieces);
void pieces_done(struct pieces *pieces);
#endif
