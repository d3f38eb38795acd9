/* SPDX-License-Identifier: Apache-2.0 */
/* The free memory between a template's objects: see heap_holes.h. */
#include "template/heap_holes.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>

/* Python keeps objects of up to 512 bytes in pools of one size each, behind a header. */
#define SIZE_STEP  16
#define LARGEST    512
#define PAGE       4096
#define HEADER     48
#define RUN        4 /* this many blocks in a row from its start mean that the pool was empty */
#define FILL_BYTES (256 * 1024) /* in one size; larger needs are served by other pools */

struct heap_block {
	struct heap_block *before;
};

static bool starts_pool(const struct heap_block *block)
{
	return (uintptr_t)block % PAGE == HEADER;
}

/* Frees `count` blocks from the last one back; -1: all. */
static void release(const struct heap_holes_allocator *allocator, struct heap_block *last,
		    int count)
{
	while (last && count-- != 0) {
		struct heap_block *before = last->before;
		allocator->release(last);
		last = before;
	}
}

/* Takes blocks until they come from an empty pool; that pool is left to the clones. */
static void fill_size(const struct heap_holes_allocator *allocator, size_t size)
{
	struct heap_block *last = NULL;
	int run = 0;

	for (size_t taken = 0; taken < FILL_BYTES; taken += size) {
		struct heap_block *block = allocator->allocate(size);
		if (!block) {
			break;
		}
		bool next = run > 0 && (char *)block == (char *)last + size;
		run = next ? run + 1 : starts_pool(block);
		block->before = last;
		last = block;
		if (run == RUN) {
			release(allocator, last, RUN);
			return;
		}
	}
	release(allocator, last, -1);
}

void heap_holes_fill(const struct heap_holes_allocator *allocator)
{
#ifdef __GLIBC__
	malloc_trim(0);
#endif
	for (size_t size = SIZE_STEP; size <= LARGEST; size += SIZE_STEP) {
		fill_size(allocator, size);
	}
}
