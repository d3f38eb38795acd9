/* SPDX-License-Identifier: Apache-2.0 */
/* The headers of a head: lines into names and values, lists joined, what came twice refused. */
#ifndef BRIG_HTTP_HEADERS_H
#define BRIG_HTTP_HEADERS_H

#include <stddef.h>

#include "http/http.h"

struct headers {
	struct http_header *list; /* owned; the strings are the head's or of `joined` */
	size_t count;
	char *joined; /* owned */
};

void headers_done(struct headers *headers);

/*
 * `head`: one that http1 has found to be in order, NUL-terminated; it is cut into strings. Its
 * `count` fields begin at `at`. 0, or the status to refuse with, and *why.
 */
int headers_read(struct headers *headers, char *head, size_t at, unsigned count, const char **why);

/* Of any number of headers of one name only one is left. NULL: not there. */
const char *headers_find(const struct http_header *list, size_t count, const char *name);
#endif
