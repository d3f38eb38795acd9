/* SPDX-License-Identifier: Apache-2.0 */
/* One output of the program: kept up to its limit, handed on as it comes. */
#ifndef BRIG_RUN_STREAM_H
#define BRIG_RUN_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

#define STREAM_TAIL_BYTES 1024

struct stream {
	int fd;     /* owned: read end, non-blocking; -1 when closed */
	int number; /* 1 or 2 */
	uint64_t limit;
	uint64_t seen; /* all bytes, kept or not */
	bool keep;
	bool terminal; /* one that nobody has open any more says EIO */
	struct buf kept;
	char tail[STREAM_TAIL_BYTES +
		  1]; /* the last of what is within the limit, also if not kept */
	size_t tail_size;
	void (*on_output)(void *user, int stream, const void *data, size_t size);
	void *user;
};

void stream_done(struct stream *stream);
/* Reads what is there. 1: more may come; 0: end of file, the caller closes; -errno. */
int stream_pump(struct stream *stream);
/* The next run has none of this one's output. */
void stream_start_over(struct stream *stream);
static inline bool stream_truncated(const struct stream *stream)
{
	return stream->seen > stream->limit;
}
#endif
