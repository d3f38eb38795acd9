/* SPDX-License-Identifier: Apache-2.0 */
/* The headers of a head: splits lines into names and values, joins lists, refuses duplicates. */
#ifndef BRIG_HTTP_HEADERS_H
#define BRIG_HTTP_HEADERS_H

#include <stddef.h>

#include "http/http.h"

struct headers {
	struct http_header *list; /* owned; the strings are in the head or in `joined` */
	size_t count;
	char *joined; /* owned */
};

void headers_done(struct headers *headers);

/*
 * `head`: checked by http1, NUL-terminated; it is cut into strings. Its `count` fields begin at
 * `at`. 0, or the status to refuse with, and *why.
 */
int headers_read(struct headers *headers, char *head, size_t at, unsigned count, const char **why);

/* Of headers with the same name only one is left. NULL: not found. */
const char *headers_find(const struct http_header *list, size_t count, const char *name);
#endif
