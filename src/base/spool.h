/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes that come in parts and are too many for the heap: they are written to a memory file, which
 * is sealed at the end and can be handed to another process as it is.
 */
#ifndef BRIG_BASE_SPOOL_H
#define BRIG_BASE_SPOOL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/block.h"

#define SPOOL_ROOM (32u << 10) /* bytes that wait until it is worth a write */

struct spool {
	bool open;   /* there is a file... */
	int fd;      /* ...which this is; owned */
	size_t size; /* with those that wait */
	size_t waiting;
	char *room; /* owned */
	int error;  /* -errno of the first failure; nothing is added from then on */
};

/* Zero-initialise it. */
void spool_add(struct spool *spool, const void *data, size_t size);
/* All of it, sealed and mapped; the caller's. 0 or -errno; -ENODATA: nothing was added. */
int spool_end(struct spool *spool, struct block **ret);
void spool_done(struct spool *spool);
#endif
