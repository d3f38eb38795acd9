/* SPDX-License-Identifier: Apache-2.0 */
/* Output streams: see stream.h. Bytes beyond the limit are read and discarded, never stored. */
#include "run/streams/stream.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "run/watchdog/watchdog.h"

#define CHUNK_BYTES   65536 /* the capacity of a pipe */
#define SHORT_BYTES   2048  /* more than most programs print */
#define CHUNKS_A_TURN 16    /* so that a flood on one stream starves nothing else */

void stream_done(struct stream *stream)
{
	close_fd(&stream->fd);
	buf_done(&stream->kept);
}

static void keep_tail(struct stream *stream, const char *data, size_t size)
{
	if (size > STREAM_TAIL_BYTES) {
		data += size - STREAM_TAIL_BYTES;
		size = STREAM_TAIL_BYTES;
	}
	size_t room = STREAM_TAIL_BYTES - size;
	size_t older = stream->tail_size < room ? stream->tail_size : room;
	memmove(stream->tail, stream->tail + stream->tail_size - older, older);
	memcpy(stream->tail + older, data, size);
	stream->tail_size = older + size;
	stream->tail[stream->tail_size] = '\0';
}

void stream_start_over(struct stream *stream)
{
	stream->seen = 0;
	stream->tail_size = 0;
	stream->tail[0] = '\0';
}

static void accept_bytes(struct stream *stream, const char *data, size_t size)
{
	uint64_t room = stream->seen < stream->limit ? stream->limit - stream->seen : 0;
	size_t part = size < room ? size : (size_t)room;

	stream->seen += size;
	if (!part) {
		return;
	}
	keep_tail(stream, data, part);
	if (stream->keep) {
		buf_add(&stream->kept, data, part);
	}
	if (stream->on_output) {
		/* A receiver that waits is none of the cell's doing. */
		struct watchdog_section outside = { 0 };

		watchdog_enter(stream->watchdog, &outside);
		stream->on_output(stream->user, stream->number, data, part);
		watchdog_leave(&outside);
	}
}

/* The number of bytes is in `got`; everything else is what stream_pump() returns. */
enum { ENDED = 0, NOTHING_NOW = 1, GOT_SOME = 2 };

static int read_chunk(struct stream *stream, char *chunk, size_t size, size_t *got)
{
	ssize_t n = read(stream->fd, chunk, size);

	*got = n > 0 ? (size_t)n : 0;
	if (n > 0) {
		accept_bytes(stream, chunk, (size_t)n);
		return GOT_SOME;
	}
	if (n == 0 || (errno == EIO && stream->terminal)) {
		return ENDED;
	}
	return errno == EINTR ? GOT_SOME : errno == EAGAIN ? NOTHING_NOW : -errno;
}

/* Apart, because its chunk is cleared at each call, and is 16 page faults at the first one. */
static __attribute__((noinline)) int pump_much(struct stream *stream)
{
	char chunk[CHUNK_BYTES];
	size_t got;
	int r = GOT_SOME;

	for (int i = 0; i < CHUNKS_A_TURN && r == GOT_SOME; i++) {
		r = read_chunk(stream, chunk, sizeof(chunk), &got);
	}
	return r == GOT_SOME ? 1 : r;
}

int stream_pump(struct stream *stream)
{
	char chunk[SHORT_BYTES];
	size_t got = 0;
	int r = GOT_SOME;

	for (int i = 0; i < CHUNKS_A_TURN && r == GOT_SOME && got < sizeof(chunk); i++) {
		r = read_chunk(stream, chunk, sizeof(chunk), &got);
	}
	if (r == GOT_SOME && got == sizeof(chunk)) {
		return pump_much(stream);
	}
	return r == GOT_SOME ? 1 : r;
}
