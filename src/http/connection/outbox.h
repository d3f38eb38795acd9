/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes that wait to be sent to the peer: as many as possible are sent at once, the rest is kept.
 */
#ifndef BRIG_HTTP_OUTBOX_H
#define BRIG_HTTP_OUTBOX_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/bytes/rope.h"
#include "http/connection/byte_stream.h"

/* At most so much is sent in one go; then other connections have their turn. */
#define OUTBOX_SLICE ((size_t)512 << 10)

struct outbox {
	char *data; /* owned; NULL while nothing waits */
	size_t start, end, capacity;
	struct rope rope; /* after the data: the rest of an answer */
};

static inline size_t outbox_waiting(const struct outbox *outbox)
{
	return outbox->end - outbox->start + rope_left(&outbox->rope);
}

/* An iovec needs a non-const pointer, although sending does not write to it. */
static inline struct iovec outbox_part(const void *data, size_t size)
{
	return (struct iovec){ .iov_base = (void *)(uintptr_t)data, .iov_len = size };
}

/* Adds all parts. Returns how many bytes were sent at once, or -errno. */
ssize_t outbox_send(struct outbox *outbox, const struct byte_stream *byte_stream,
		    const struct iovec *parts, size_t count);
/* Takes the rope over. It is sent when the outbox is flushed, and is the last of an answer. */
void outbox_attach(struct outbox *outbox, struct rope *rope);
/* The same for the bytes that wait, one slice of them. */
ssize_t outbox_flush(struct outbox *outbox, const struct byte_stream *byte_stream);
void outbox_done(struct outbox *outbox);
#endif
