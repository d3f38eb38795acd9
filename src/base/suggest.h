/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean": finds the word nearest to a misspelt one. */
#ifndef BRIG_BASE_SUGGEST_H
#define BRIG_BASE_SUGGEST_H

struct suggestion {
	const char *word; /* the nearest so far; NULL: nothing is near */
	unsigned distance;
};

/* Keeps `candidate` if it is near to `word` and nearer than the best so far. */
void suggest(struct suggestion *best, const char *word, const char *candidate);
#endif
