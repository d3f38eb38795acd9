/* SPDX-License-Identifier: Apache-2.0 */
/* A growing list of owned strings. */
#include "base/strlist.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 8 /* a power of two */

/*
 * The struct has no capacity: it follows from the count. Slots, the NULL included, come in powers
 * of two, so the array is full exactly when the slots in use are one.
 */
static int strlist_grow(struct strlist *list)
{
	size_t used = list->count + 1;
	size_t slots = FIRST_SLOTS;

	if (list->items) {
		if (used < FIRST_SLOTS || (used & (used - 1)) != 0) {
			return 0;
		}
		slots = used * 2;
	}
	char **items = reallocarray(list->items, slots, sizeof(*items));
	if (!items) {
		return -ENOMEM;
	}
	list->items = items;
	list->items[list->count] = NULL;
	return 0;
}

/* Takes ownership of the string, also when it fails. */
static int strlist_push(struct strlist *list, char *text)
{
	if (!text || strlist_grow(list) < 0) {
		free(text);
		return -ENOMEM;
	}
	list->items[list->count++] = text;
	list->items[list->count] = NULL;
	return 0;
}

void strlist_done(struct strlist *list)
{
	if (!list) {
		return;
	}
	for (size_t i = 0; i < list->count; i++) {
		free(list->items[i]);
	}
	free(list->items);
	*list = (struct strlist){ 0 };
}

int strlist_add(struct strlist *list, const char *text)
{
	return strlist_push(list, strdup(text));
}

int strlist_insert(struct strlist *list, size_t at, const char *text)
{
	int r = strlist_add(list, text);
	size_t last = list->count - 1;

	if (r == 0 && at < last) {
		char *item = list->items[last];
		memmove(&list->items[at + 1], &list->items[at], (last - at) * sizeof(item));
		list->items[at] = item;
	}
	return r;
}

int strlist_addf(struct strlist *list, const char *format, ...)
{
	char *text = NULL;
	va_list args;

	va_start(args, format);
	int size = vasprintf(&text, format, args);
	va_end(args);
	return strlist_push(list, size < 0 ? NULL : text);
}

bool strlist_has(const struct strlist *list, const char *text)
{
	for (size_t i = 0; i < list->count; i++) {
		if (strcmp(list->items[i], text) == 0) {
			return true;
		}
	}
	return false;
}
