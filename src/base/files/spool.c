/* SPDX-License-Identifier: Apache-2.0 */
/* Collects bytes in a memory file: see spool.h. */
#include "base/files/spool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/files/memfile.h"
#include "base/files/write_all.h"

static void spool_write(struct spool *spool, const void *data, size_t size)
{
	int r = write_all(spool->fd, data, size);

	spool->error = r < 0 ? r : spool->error;
}

static bool spool_open(struct spool *spool)
{
	if (!spool->open) {
		spool->fd = memfile_open("brig-upload");
		spool->open = spool->fd >= 0;
		spool->error = spool->open ? 0 : spool->fd;
	}
	if (!spool->room && spool->error == 0) {
		spool->room = malloc(SPOOL_ROOM);
		spool->error = spool->room ? 0 : -ENOMEM;
	}
	return spool->error == 0;
}

static void spool_flush(struct spool *spool)
{
	if (spool->waiting) {
		spool_write(spool, spool->room, spool->waiting);
		spool->waiting = 0;
	}
}

void spool_add(struct spool *spool, const void *data, size_t size)
{
	if (spool->error || size == 0 || !spool_open(spool)) {
		return;
	}
	if (size > SPOOL_ROOM - spool->waiting) {
		spool_flush(spool);
	}
	if (size > SPOOL_ROOM) {
		spool_write(spool, data, size);
	} else {
		memcpy(spool->room + spool->waiting, data, size);
		spool->waiting += size;
	}
	spool->size += size;
}

int spool_end(struct spool *spool, struct block **ret)
{
	int r = 0;

	if (spool->size == 0 && spool->error == 0) {
		return -ENODATA;
	}
	spool_flush(spool);
	r = spool->error ? spool->error : memfile_seal(spool->fd);
	r = r < 0 ? r : block_map(&spool->fd, spool->size, ret);
	spool->open = spool->open && r < 0; /* else the block owns it */
	spool_done(spool);
	return r;
}

void spool_done(struct spool *spool)
{
	if (spool->open) {
		close_fd(&spool->fd);
	}
	free(spool->room);
	*spool = (struct spool){ 0 };
}
