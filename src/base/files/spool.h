/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes that arrive in parts and are too many for the heap: they are written to a memory file,
 * which is sealed at the end and can be passed to another process unchanged.
 */
#ifndef BRIG_BASE_SPOOL_H
#define BRIG_BASE_SPOOL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes/block.h"

#define SPOOL_ROOM (32u << 10) /* bytes that are buffered before a write */

struct spool {
	bool open;   /* there is a file... */
	int fd;      /* ...with this descriptor; owned */
	size_t size; /* including the buffered ones */
	size_t waiting;
	char *room; /* owned */
	int error;  /* -errno of the first failure; nothing is added from then on */
};

/* Zero-initialise it. */
void spool_add(struct spool *spool, const void *data, size_t size);
/*
 * The whole data, sealed and mapped; owned by the caller. 0 or -errno; -ENODATA: nothing was added.
 */
int spool_end(struct spool *spool, struct block **ret);
void spool_done(struct spool *spool);
#endif
