/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Immutable bytes with several owners and without copies: in memory, or in a sealed memory file
 * that can be passed on to another process unchanged.
 */
#ifndef BRIG_BASE_BLOCK_H
#define BRIG_BASE_BLOCK_H

#include <stddef.h>

struct block {
	unsigned refs;
	int fd; /* of the memory file; -1: in memory */
	const char *data;
	size_t size;
};

/* NULL: no memory. */
struct block *block_copy(const void *data, size_t size);
/* Takes ownership of malloc()ed memory, also on failure. */
struct block *block_adopt(char *data, size_t size);
/*
 * Maps a memory file, and takes ownership of the descriptor on success. -EPROTO: it is not sealed,
 * has more than `max` bytes, or none.
 */
int block_map(int *fd, size_t max, struct block **ret);
struct block *block_ref(struct block *block);
void block_unref(struct block *block); /* NULL does nothing */
void block_unrefp(struct block **block);
#endif
