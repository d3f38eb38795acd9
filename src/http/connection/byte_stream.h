/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a connection: unencrypted, or over another transport (see http.h). */
#ifndef BRIG_HTTP_BYTE_STREAM_H
#define BRIG_HTTP_BYTE_STREAM_H

#include "http/http.h"

struct byte_stream {
	int fd;                                 /* owned */
	const struct http_transport *transport; /* NULL: unencrypted */
	void *state;                            /* owned; the transport's state */
};

/* Uses the transport for this socket from now on. 0 or -errno. */
int byte_stream_open(struct byte_stream *byte_stream, const struct http_transport *transport);
/* Drops the transport's state: the rest is unencrypted. */
void byte_stream_forget(struct byte_stream *byte_stream);
void byte_stream_done(struct byte_stream *byte_stream);

/* The same as the functions of the transport. */
int byte_stream_begin(const struct byte_stream *byte_stream);
ssize_t byte_stream_receive(const struct byte_stream *byte_stream, void *data, size_t size);
/* How many bytes were sent (0: none now), or -errno. */
ssize_t byte_stream_send(const struct byte_stream *byte_stream, const struct iovec *parts,
			 size_t count);
/* Ends the sending direction. 0, HTTP_WANTS_OUTPUT or -errno. */
int byte_stream_end(const struct byte_stream *byte_stream);
/* Reads bytes without decoding them, to discard them: their number, 0 at the end, or -errno. */
ssize_t byte_stream_discard(const struct byte_stream *byte_stream, void *room, size_t size);
#endif
