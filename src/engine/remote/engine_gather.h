/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run's output on its way to the front: pieces of both streams in their original order, gathered
 * into records. A program may write single bytes, and switch streams with each: so a record has
 * many pieces, and both its bytes and its pieces are bounded.
 */
#ifndef BRIG_ENGINE_ENGINE_GATHER_H
#define BRIG_ENGINE_ENGINE_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "role/message.h"

/* Precedes the bytes of each piece. */
struct engine_piece {
	uint16_t stream; /* 1 or 2 */
	uint16_t size;
};

/* The front does some work for each piece: this bounds the time that a record takes. */
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

/* -ENOMEM: a part was not added. */
int engine_gather_add(struct engine_gather *gather, int stream, const void *data, size_t size);
/* Is the first record complete? */
bool engine_gather_has_whole(const struct engine_gather *gather);
void engine_gather_drop(struct engine_gather *gather); /* removes the first record */
void engine_gather_done(struct engine_gather *gather);

/*
 * The next piece of a received record, from `at` on: 1, 0 at the end, or -EPROTO when the record
 * does not consist of pieces. Advances `at`.
 */
int engine_piece_next(const char *tail, size_t size, size_t *at, struct engine_piece *ret,
		      const char **ret_data);
#endif
