/* What waits to be taken by the peer: sent at once as far as it goes, the rest kept. */
#ifndef BRIG_HTTP_OUTBOX_H
#define BRIG_HTTP_OUTBOX_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "http/carrier.h"

struct outbox {
	char *data; /* owned; NULL while nothing waits */
	size_t start, end, capacity;
};

static inline size_t outbox_waiting(const struct outbox *outbox)
{
	return outbox->end - outbox->start;
}

/* An iovec wants a pointer that it could write to; sending does not. */
static inline struct iovec outbox_part(const void *data, size_t size)
{
	return (struct iovec){ .iov_base = (void *)(uintptr_t)data, .iov_len = size };
}

/* Adds all parts. How many bytes were taken at once, or -errno. */
ssize_t outbox_send(struct outbox *outbox, const struct carrier *carrier, const struct iovec *parts,
		    size_t count);
/* The same for what waits. */
ssize_t outbox_flush(struct outbox *outbox, const struct carrier *carrier);
void outbox_done(struct outbox *outbox);
#endif
