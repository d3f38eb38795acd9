/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts the list of changes a little at a time: a merge sort from the bottom up. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "run/files/changes.h"

/* Two paths of 1023 bytes are compared in a tenth of a microsecond. */
#define MOVES_AT_ONCE 512u

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The next two sorted sequences, which are merged into one in the spare list. */
static void begin_pair(struct changes_sort *sort, size_t count, size_t from)
{
	sort->left = sort->out = from;
	sort->left_end = sort->right = least(from + sort->width, count);
	sort->right_end = least(sort->right + sort->width, count);
}

static bool left_is_next(const struct changes_sort *sort, const struct brig_change *list)
{
	if (sort->left == sort->left_end || sort->right == sort->right_end) {
		return sort->left < sort->left_end;
	}
	return strcmp(list[sort->left].path, list[sort->right].path) <= 0;
}

/* All pairs are merged: the spare list now has the longer sorted sequences. */
static void end_pass(struct changes *changes)
{
	struct changes_sort *sort = &changes->sort;
	struct brig_change *sorted = sort->spare;

	sort->spare = changes->list;
	changes->list = sorted;
	sort->width *= 2;
	begin_pair(sort, changes->count, 0);
}

static int begin(struct changes *changes)
{
	struct changes_sort *sort = &changes->sort;

	sort->spare = calloc(changes->count, sizeof(*sort->spare));
	if (!sort->spare) {
		return -ENOMEM;
	}
	sort->width = 1;
	begin_pair(sort, changes->count, 0);
	return 0;
}

int changes_sort(struct changes *changes)
{
	struct changes_sort *sort = &changes->sort;

	if (changes->count < 2) {
		return 1;
	}
	if (!sort->spare && begin(changes) < 0) {
		return -ENOMEM;
	}
	for (unsigned i = 0; i < MOVES_AT_ONCE && sort->width < changes->count; i++) {
		size_t next = left_is_next(sort, changes->list) ? sort->left++ : sort->right++;

		sort->spare[sort->out++] = changes->list[next];
		if (sort->out == changes->count) {
			end_pass(changes);
		} else if (sort->out == sort->right_end) {
			begin_pair(sort, changes->count, sort->out);
		}
	}
	return sort->width >= changes->count;
}
