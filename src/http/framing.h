/* What the headers say of the message itself: its host, where its body ends, what comes after. */
#ifndef BRIG_HTTP_FRAMING_H
#define BRIG_HTTP_FRAMING_H

#include <stdbool.h>
#include <stdint.h>

#include "http/headers.h"

struct framing {
	bool chunked;
	bool has_length;
	uint64_t length;
	bool keep_alive;
	bool expects_continue;
};

static inline bool framing_has_body(const struct framing *framing)
{
	return framing->chunked || framing->length > 0;
}

/* `minor`: of HTTP/1.x. 0, or the status to refuse with, and *why. */
int framing_read(struct framing *framing, const struct headers *headers, unsigned minor,
		 const char **why);
#endif
