/* SPDX-License-Identifier: Apache-2.0 */
/* How a connection's bytes travel: in clear, or over another transport (see http.h). */
#ifndef BRIG_HTTP_BYTE_STREAM_H
#define BRIG_HTTP_BYTE_STREAM_H

#include "http/http.h"

struct carrier {
	int fd;                                 /* owned */
	const struct http_transport *transport; /* NULL: in clear */
	void *state;                            /* owned; the transport's */
};

/* All over this socket goes by the transport from now on. 0 or -errno. */
int carrier_open(struct carrier *carrier, const struct http_transport *transport);
/* What was agreed is forgotten: the rest is in clear. */
void carrier_forget(struct carrier *carrier);
void carrier_done(struct carrier *carrier);

/* As the functions of the transport. */
int carrier_begin(const struct carrier *carrier);
ssize_t carrier_receive(const struct carrier *carrier, void *data, size_t size);
/* How many bytes were taken (0: none now), or -errno. */
ssize_t carrier_send(const struct carrier *carrier, const struct iovec *parts, size_t count);
/* Nothing more is sent. 0, HTTP_WANTS_OUTPUT or -errno. */
int carrier_end(const struct carrier *carrier);
/* Takes what came as it is, to throw it away: bytes, 0 at the end, or -errno. */
ssize_t carrier_discard(const struct carrier *carrier, void *room, size_t size);
#endif
