/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run's output on its way to the front: pieces of both streams in the order in which they came,
 * gathered into records. A program may write single bytes, and change streams with each: so a
 * record has many pieces, and both bytes and pieces of a record have a bound.
 */
#ifndef BRIG_ENGINE_ENGINE_GATHER_H
#define BRIG_ENGINE_ENGINE_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "role/message.h"

/* In front of the bytes of each piece. */
struct engine_piece {
	uint16_t stream; /* 1 or 2 */
	uint16_t size;
};

/* The front does something for each piece: so many of them are a slice of its time. */
#define ENGINE_PIECES_MAX 256u

struct engine_gathered {
	struct engine_gathered *next;
	size_t size;
	size_t last; /* where the last piece begins */
	unsigned pieces;
	char data[MESSAGE_TAIL_MAX];
};

struct engine_gather {
	struct engine_gathered *first, *last; /* owned */
	size_t bytes;                         /* of all records */
};

/* -ENOMEM: not all of it was taken. */
int engine_gather_add(struct engine_gather *gather, int stream, const void *data, size_t size);
/* Is the first record as long as it gets? */
bool engine_gather_has_whole(const struct engine_gather *gather);
void engine_gather_drop(struct engine_gather *gather); /* the first record */
void engine_gather_done(struct engine_gather *gather);

/*
 * The next piece of a record that came, from `at` on: 1, 0 at the end, or -EPROTO when the record
 * is not made of pieces. `at` moves on.
 */
int engine_piece_next(const char *tail, size_t size, size_t *at, struct engine_piece *ret,
		      const char **ret_data);
#endif
