/* SPDX-License-Identifier: Apache-2.0 */
/* Edit distance, for short words. */
#include "base/suggest.h"

#include <string.h>

#define WORD_MAX 32

static unsigned least(unsigned a, unsigned b, unsigned c)
{
	unsigned ab = a < b ? a : b;

	return ab < c ? ab : c;
}

/* Levenshtein's distance, one row at a time. Both words are at most WORD_MAX long. */
static unsigned distance(const char *a, size_t a_length, const char *b, size_t b_length)
{
	unsigned row[WORD_MAX + 1];

	for (size_t j = 0; j <= b_length; j++) {
		row[j] = (unsigned)j;
	}
	for (size_t i = 1; i <= a_length; i++) {
		unsigned diagonal = row[0];

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= b_length; j++) {
			unsigned above = row[j];

			row[j] =
				least(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
			diagonal = above;
		}
	}
	return row[b_length];
}

void suggest(struct suggestion *best, const char *word, const char *candidate)
{
	size_t word_length = strnlen(word, WORD_MAX + 1);
	size_t length = strnlen(candidate, WORD_MAX + 1);

	if (word_length > WORD_MAX || length > WORD_MAX) {
		return;
	}

	unsigned far = distance(word, word_length, candidate, length);

	/* If half of a word has changed, it is another word. */
	if (far * 2 <= length && far <= 4 && (!best->word || far < best->distance)) {
		best->word = candidate;
		best->distance = far;
	}
}
