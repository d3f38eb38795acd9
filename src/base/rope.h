/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A long text in parts, some of which are somebody else's: what is written in between is its own,
 * parts of blocks are referenced and never copied. Zero-initialise it.
 */
#ifndef BRIG_BASE_ROPE_H
#define BRIG_BASE_ROPE_H

#include <sys/uio.h>

#include "base/block.h"
#include "base/buf.h"

#define ROPE_PIECES 16u

struct rope_part {
	const struct block *block; /* a reference; NULL: of the own text */
	size_t at, size;
};

struct rope {
	struct buf text;         /* append to it */
	struct rope_part *parts; /* owned */
	size_t count, room;
	size_t marked; /* text that is in a part already */
	size_t size;   /* of all parts */
	bool failed;
	size_t part, at; /* what has been taken from the front of it */
};

void rope_done(struct rope *rope);
/* What was appended to the text stands before it. */
void rope_block(struct rope *rope, struct block *block, size_t at, size_t size);
/* All that is left of `more`, which stays as it is, but finished. */
void rope_append(struct rope *rope, struct rope *more);
/* No more is appended: false without memory. */
bool rope_finish(struct rope *rope);
/* Bytes that have not been taken, of one that is finished. */
size_t rope_left(const struct rope *rope);
/* The next pieces, at most `max` bytes together; how many pieces. */
size_t rope_peek(const struct rope *rope, size_t max, struct iovec pieces[ROPE_PIECES]);
void rope_take(struct rope *rope, size_t size);
#endif
