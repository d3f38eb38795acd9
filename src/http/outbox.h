/* SPDX-License-Identifier: Apache-2.0 */
/* What waits to be taken by the peer: sent at once as far as it goes, the rest kept. */
#ifndef BRIG_HTTP_OUTBOX_H
#define BRIG_HTTP_OUTBOX_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/rope.h"
#include "http/byte_stream.h"

/* So much goes out in one go: then others are looked after. */
#define OUTBOX_SLICE ((size_t)512 << 10)

struct outbox {
	char *data; /* owned; NULL while nothing waits */
	size_t start, end, capacity;
	struct rope rope; /* behind the data: the rest of an answer */
};

static inline size_t outbox_waiting(const struct outbox *outbox)
{
	return outbox->end - outbox->start + rope_left(&outbox->rope);
}

/* An iovec wants a pointer that it could write to; sending does not. */
static inline struct iovec outbox_part(const void *data, size_t size)
{
	return (struct iovec){ .iov_base = (void *)(uintptr_t)data, .iov_len = size };
}

/* Adds all parts. How many bytes were taken at once, or -errno. */
ssize_t outbox_send(struct outbox *outbox, const struct byte_stream *byte_stream,
		    const struct iovec *parts, size_t count);
/* Takes the rope over. It is sent when the outbox is flushed, and is the last of an answer. */
void outbox_attach(struct outbox *outbox, struct rope *rope);
/* The same for what waits, a slice of it. */
ssize_t outbox_flush(struct outbox *outbox, const struct byte_stream *byte_stream);
void outbox_done(struct outbox *outbox);
#endif
