/* SPDX-License-Identifier: Apache-2.0 */
/* One output stream of the program: kept up to its limit, passed on as it arrives. */
#ifndef BRIG_RUN_STREAMS_STREAM_H
#define BRIG_RUN_STREAMS_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes/buf.h"

#define STREAM_TAIL_BYTES 1024

struct watchdog;

struct stream {
	struct watchdog *watchdog; /* borrowed: of the thread that reads it; NULL: none */
	int fd;                    /* owned: read end, non-blocking; -1 when closed */
	int number;                /* 1 or 2 */
	uint64_t limit;
	uint64_t seen; /* all bytes, kept or not */
	bool keep;
	bool terminal; /* a terminal that no process has open any more returns EIO */
	struct buf kept;
	char tail[STREAM_TAIL_BYTES + 1]; /* the last bytes within the limit, also if not kept */
	size_t tail_size;
	void (*on_output)(void *user, int stream, const void *data, size_t size);
	void *user;
};

void stream_done(struct stream *stream);
/* Reads the available bytes. 1: more may come; 0: end of file, the caller closes; -errno. */
int stream_pump(struct stream *stream);
/* Clears the figures and the tail for the next run. */
void stream_start_over(struct stream *stream);
static inline bool stream_truncated(const struct stream *stream)
{
	return stream->seen > stream->limit;
}
#endif
