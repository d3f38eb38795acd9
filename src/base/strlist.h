/* SPDX-License-Identifier: Apache-2.0 */
/* A growing list of owned strings, kept NULL-terminated so that it can serve as an argv. */
#ifndef BRIG_BASE_STRLIST_H
#define BRIG_BASE_STRLIST_H

#include <stdbool.h>
#include <stddef.h>

struct strlist {
	char **items; /* owned, NULL-terminated; NULL when empty */
	size_t count;
};

void strlist_done(struct strlist *list);
int strlist_add(struct strlist *list, const char *text);               /* 0 or -ENOMEM */
int strlist_insert(struct strlist *list, size_t at, const char *text); /* the same; before `at` */
int strlist_addf(struct strlist *list, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
bool strlist_has(const struct strlist *list, const char *text);
#endif
