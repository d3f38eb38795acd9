/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean": what comes nearest to a misspelt word. */
#ifndef BRIG_BASE_SUGGEST_H
#define BRIG_BASE_SUGGEST_H

struct suggestion {
	const char *word; /* the nearest so far; NULL: nothing is near */
	unsigned distance;
};

/* Remembers `candidate` if it is near to `word` and nearer than what came before. */
void suggest(struct suggestion *best, const char *word, const char *candidate);
#endif
