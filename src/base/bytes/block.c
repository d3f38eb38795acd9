/* SPDX-License-Identifier: Apache-2.0 */
/* Shared bytes: see block.h. */
#include "base/bytes/block.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"

/* With these seals, checked data cannot change, and reading it cannot fault. */
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

static struct block *block_new(int fd, const char *data, size_t size)
{
	struct block *block = malloc(sizeof(*block));

	if (block) {
		*block = (struct block){ .refs = 1, .fd = fd, .data = data, .size = size };
	}
	return block;
}

struct block *block_adopt(char *data, size_t size)
{
	struct block *block = data ? block_new(-1, data, size) : NULL;

	if (!block) {
		free(data);
	}
	return block;
}

struct block *block_copy(const void *data, size_t size)
{
	char *copy = malloc(size + 1);

	if (copy) {
		memcpy(copy, data, size);
		copy[size] = '\0';
	}
	return block_adopt(copy, size);
}

int block_map(int *fd, size_t max, struct block **ret)
{
	struct stat info;
	int seals = fcntl(*fd, F_GET_SEALS);

	if (seals < 0 || (seals & SEALS) != SEALS || fstat(*fd, &info) < 0 || info.st_size <= 0 ||
	    (uint64_t)info.st_size > max) {
		return -EPROTO;
	}
	size_t size = (size_t)info.st_size;
	void *data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, *fd, 0);
	if (data == MAP_FAILED) {
		return -errno;
	}
	struct block *block = block_new(*fd, data, size);
	if (!block) {
		munmap(data, size);
		return -ENOMEM;
	}
	*fd = -1;
	*ret = block;
	return 0;
}

struct block *block_ref(struct block *block)
{
	block->refs++;
	return block;
}

void block_unref(struct block *block)
{
	if (!block || --block->refs > 0) {
		return;
	}
	void *data = (void *)(uintptr_t)block->data;
	if (block->fd >= 0) {
		munmap(data, block->size);
		close_fd(&block->fd);
	} else {
		free(data);
	}
	free(block);
}

void block_unrefp(struct block **block)
{
	block_unref(*block);
}
