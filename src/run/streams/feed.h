/* SPDX-License-Identifier: Apache-2.0 */
/* Standard input of the program: a fixed text, or bytes that the caller feeds. */
#ifndef BRIG_RUN_STREAMS_FEED_H
#define BRIG_RUN_STREAMS_FEED_H

#include <stdbool.h>
#include <stddef.h>

#define FEED_BUFFER_BYTES 65536

struct feed {
	int fd;     /* owned: write end, non-blocking; -1 when closed */
	char *data; /* owned: bytes not yet written */
	size_t size;
	size_t at;
	bool open; /* more bytes may be added */
};

/* Copies the text. 0 or -ENOMEM. */
int feed_init(struct feed *feed, int fd, const void *data, size_t size, bool open);
void feed_done(struct feed *feed);
/* Accepts up to a buffer of bytes; returns how many, 0 when full. */
long feed_add(struct feed *feed, const void *data, size_t size);
/* Writes as much as fits; closes after the last byte. A missing reader is no error. */
void feed_pump(struct feed *feed);
/* One small write to a pipe with room, without SIGPIPE if there is no reader. 0 or -errno. */
int feed_write(int fd, const void *data, size_t size);
static inline bool feed_wants_write(const struct feed *feed)
{
	return feed->fd >= 0 && feed->at < feed->size;
}
#endif
