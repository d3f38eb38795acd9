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
 * `text`: header lines that passed the guard, NUL-terminated, up to and with the empty line; it is
 * cut into strings. `lines` of them. 0, or the status to refuse with, and *why.
 */
int headers_read(struct headers *headers, char *text, unsigned lines, const char **why);

/* Of any number of headers of one name only one is left. NULL: not there. */
const char *headers_find(const struct http_header *list, size_t count, const char *name);
#endif
