/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A long text in parts, some of which belong to blocks: these are referenced and never copied; text
 * in between is the rope's own. Zero-initialise it.
 */
#ifndef BRIG_BASE_ROPE_H
#define BRIG_BASE_ROPE_H

#include <sys/uio.h>

#include "base/bytes/block.h"
#include "base/bytes/buf.h"

#define ROPE_PIECES 16u

struct rope_part {
	const struct block *block; /* a reference; NULL: part of the rope's own text */
	size_t at, size;
};

struct rope {
	struct buf text;         /* append to it */
	struct rope_part *parts; /* owned */
	size_t count, room;
	size_t marked; /* text that is already in a part */
	size_t size;   /* of all parts */
	bool failed;
	size_t part, at; /* position up to which it was consumed */
};

void rope_done(struct rope *rope);
/* Text that was appended before comes before it. */
void rope_block(struct rope *rope, struct block *block, size_t at, size_t size);
/* Appends the rest of `more`, which stays valid, but is finished. */
void rope_append(struct rope *rope, struct rope *more);
/* No more is appended: false without memory. */
bool rope_finish(struct rope *rope);
/* Bytes that were not consumed yet, of a finished rope. */
size_t rope_left(const struct rope *rope);
/* The next pieces, at most `max` bytes in total; returns the number of pieces. */
size_t rope_peek(const struct rope *rope, size_t max, struct iovec pieces[ROPE_PIECES]);
void rope_take(struct rope *rope, size_t size);
#endif
