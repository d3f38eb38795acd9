/* SPDX-License-Identifier: Apache-2.0 */
/* Chunked bodies: see chunks.h. */
#include "gate/chunks.h"

#include <errno.h>

#define DIGITS_MAX 15 /* the size always fits */

static int digit_of(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

static int take_size(struct chunks *chunks, char c)
{
	int digit = digit_of(c);

	if (digit >= 0 && chunks->digits < DIGITS_MAX) {
		chunks->left = chunks->left * 16 + (uint64_t)digit;
		chunks->digits++;
		return 0;
	}
	if (c != '\r' || chunks->digits == 0) {
		return -EBADMSG;
	}
	chunks->digits = 0;
	chunks->state = CHUNKS_SIZE_END;
	return 0;
}

/* One byte that must be this one, and what comes behind it. */
static int take_mark(struct chunks *chunks, char c)
{
	static const struct {
		char mark;
		enum chunks_state next;
	} marks[] = {
		[CHUNKS_SIZE_END] = { '\n', CHUNKS_DATA },
		[CHUNKS_DATA_CR] = { '\r', CHUNKS_DATA_END },
		[CHUNKS_DATA_END] = { '\n', CHUNKS_SIZE },
		[CHUNKS_LAST_CR] = { '\r', CHUNKS_LAST_END },
		[CHUNKS_LAST_END] = { '\n', CHUNKS_OVER },
	};

	if (c != marks[chunks->state].mark) {
		return -EBADMSG;
	}
	bool last = chunks->state == CHUNKS_SIZE_END && chunks->left == 0;
	chunks->state = last ? CHUNKS_LAST_CR : marks[chunks->state].next;
	return 0;
}

long chunks_take(struct chunks *chunks, const char *data, size_t size)
{
	size_t at = 0;

	while (at < size && chunks->state != CHUNKS_OVER) {
		if (chunks->state == CHUNKS_DATA) {
			size_t here = size - at < chunks->left ? size - at : (size_t)chunks->left;
			at += here;
			chunks->left -= here;
			chunks->state = chunks->left ? CHUNKS_DATA : CHUNKS_DATA_CR;
			continue;
		}
		int r = chunks->state == CHUNKS_SIZE ? take_size(chunks, data[at])
						     : take_mark(chunks, data[at]);
		if (r < 0) {
			return r;
		}
		at++;
	}
	return (long)at;
}
