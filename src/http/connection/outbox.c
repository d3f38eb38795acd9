/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that wait to be sent: see outbox.h. */
#include "http/connection/outbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void outbox_done(struct outbox *outbox)
{
	free(outbox->data);
	rope_done(&outbox->rope);
	*outbox = (struct outbox){ 0 };
}

static int make_room(struct outbox *outbox, size_t size)
{
	size_t waiting = outbox->end - outbox->start;

	if (outbox->capacity - outbox->end >= size) {
		return 0;
	}
	/*
	 * Moving is worth it only when much is free, otherwise each small part would move the rest.
	 */
	if (outbox->start >= waiting && outbox->capacity - waiting >= size) {
		memmove(outbox->data, outbox->data + outbox->start, waiting);
	} else {
		size_t capacity = (waiting + size) + (waiting + size) / 2;
		char *data = malloc(capacity);
		if (!data) {
			return -ENOMEM;
		}
		if (waiting > 0) {
			memcpy(data, outbox->data + outbox->start, waiting);
		}
		free(outbox->data);
		outbox->data = data;
		outbox->capacity = capacity;
	}
	outbox->start = 0;
	outbox->end = waiting;
	return 0;
}

static int keep(struct outbox *outbox, const void *data, size_t size)
{
	int r = make_room(outbox, size);
	if (r < 0) {
		return r;
	}
	memcpy(outbox->data + outbox->end, data, size);
	outbox->end += size;
	return 0;
}

ssize_t outbox_send(struct outbox *outbox, const struct byte_stream *byte_stream,
		    const struct iovec *parts, size_t count)
{
	ssize_t sent = 0;

	if (outbox_waiting(outbox) == 0) {
		sent = byte_stream_send(byte_stream, parts, count);
		if (sent < 0) {
			return sent;
		}
	}
	size_t skip = (size_t)sent;
	for (size_t i = 0; i < count; i++) {
		size_t part = skip < parts[i].iov_len ? skip : parts[i].iov_len;
		skip -= part;
		/* An empty part may have no address to add to. */
		int r = part == parts[i].iov_len
				? 0
				: keep(outbox, (const char *)parts[i].iov_base + part,
				       parts[i].iov_len - part);
		if (r < 0) {
			return r;
		}
	}
	return sent;
}

void outbox_attach(struct outbox *outbox, struct rope *rope)
{
	outbox->rope = *rope;
	*rope = (struct rope){ 0 };
}

static ssize_t send_some(struct outbox *outbox, const struct byte_stream *byte_stream, size_t max)
{
	struct iovec pieces[ROPE_PIECES];
	size_t own = outbox->end - outbox->start, count = 1;

	if (own > 0) {
		pieces[0] = outbox_part(outbox->data + outbox->start, own < max ? own : max);
	} else {
		count = rope_peek(&outbox->rope, max, pieces);
	}
	ssize_t sent = byte_stream_send(byte_stream, pieces, count);
	if (sent > 0 && own > 0) {
		outbox->start += (size_t)sent;
	} else if (sent > 0) {
		rope_take(&outbox->rope, (size_t)sent);
	}
	return sent;
}

ssize_t outbox_flush(struct outbox *outbox, const struct byte_stream *byte_stream)
{
	size_t total = 0;

	while (outbox_waiting(outbox) > 0 && total < OUTBOX_SLICE) {
		ssize_t sent = send_some(outbox, byte_stream, OUTBOX_SLICE - total);
		if (sent < 0) {
			return sent;
		}
		if (sent == 0) {
			return (ssize_t)total;
		}
		total += (size_t)sent;
	}
	if (outbox_waiting(outbox) == 0) {
		outbox_done(outbox);
	}
	return (ssize_t)total;
}
