/* SPDX-License-Identifier: Apache-2.0 */
/* The {words} in the data files of tools, which brig replaces by its own texts. */
#ifndef BRIG_POLICY_WORDS_H
#define BRIG_POLICY_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes/buf.h"
#include "base/strlist.h"

struct word {
	const char *name;
	bool last; /* nothing may follow it in its text: "{root}/.." is another directory */
};

struct words {
	const struct word *list;
	size_t count;
};

/* A word at the start of `text`, as its number, with its length; -1: another; -2: none. */
int words_at(const struct words *words, const char *text, size_t *ret_length);
/* Is the form of a text right? If not, `why` gets the reason. */
int words_check(const struct words *words, const char *text, char *why, size_t size);
/* Is the word in one of the texts? */
bool words_have(const struct words *words, const struct strlist *texts, int wanted);
/* The text with its words replaced by the values of their numbers. */
void words_put(const struct words *words, const char *text, const char *const *values,
	       struct buf *out);
/* Appends all texts, replaced. 0 or -ENOMEM. */
int words_expand(const struct words *words, const struct strlist *texts, const char *const *values,
		 struct strlist *ret);
#endif
