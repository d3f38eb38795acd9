/* The first line of a request: method, target, version, with one space between them. */
#ifndef BRIG_HTTP_REQUEST_LINE_H
#define BRIG_HTTP_REQUEST_LINE_H

#include <stddef.h>

struct request_line {
	const char *method; /* of the table of methods, not of the line */
	size_t target_at, target_size;
	unsigned minor; /* of HTTP/1.x: 0 or 1 */
};

/* The methods that are taken, for an Allow header. */
extern const char request_line_allow[];

/* `line` without its end. 0, or the status to refuse with, and *why. */
int request_line_read(const char *line, size_t size, struct request_line *ret, const char **why);
#endif
