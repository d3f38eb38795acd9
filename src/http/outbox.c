/* What waits to be taken by the peer: see outbox.h. */
#include "http/outbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void outbox_done(struct outbox *outbox)
{
	free(outbox->data);
	*outbox = (struct outbox){ 0 };
}

static int make_room(struct outbox *outbox, size_t size)
{
	size_t waiting = outbox_waiting(outbox);

	if (outbox->capacity - outbox->end >= size) {
		return 0;
	}
	/* Moving is worth it only when much is free, else each small part would move the rest. */
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

ssize_t outbox_send(struct outbox *outbox, const struct carrier *carrier, const struct iovec *parts,
		    size_t count)
{
	ssize_t sent = 0;

	if (outbox_waiting(outbox) == 0) {
		sent = carrier_send(carrier, parts, count);
		if (sent < 0) {
			return sent;
		}
	}
	size_t skip = (size_t)sent;
	for (size_t i = 0; i < count; i++) {
		size_t part = skip < parts[i].iov_len ? skip : parts[i].iov_len;
		skip -= part;
		/* An empty part may have no address to count from. */
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

ssize_t outbox_flush(struct outbox *outbox, const struct carrier *carrier)
{
	size_t total = 0;

	while (outbox_waiting(outbox) > 0) {
		struct iovec part =
			outbox_part(outbox->data + outbox->start, outbox_waiting(outbox));
		ssize_t sent = carrier_send(carrier, &part, 1);
		if (sent < 0) {
			return sent;
		}
		if (sent == 0) {
			return (ssize_t)total;
		}
		outbox->start += (size_t)sent;
		total += (size_t)sent;
	}
	outbox_done(outbox);
	return (ssize_t)total;
}
