/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One end of a TLS connection, over a socket. Nothing blocks: a function that cannot go on returns
 * what it waits for, and is called again when that is ready. All other errors are final.
 */
#ifndef BRIG_TLS_TLS_STREAM_H
#define BRIG_TLS_TLS_STREAM_H

#include <errno.h>
#include <openssl/ssl.h>
#include <sys/types.h>

#include "tls/socket_bio.h"

enum {
	TLS_WANTS_INPUT = -EAGAIN,
	TLS_WANTS_OUTPUT = -EINPROGRESS,
};

#define TLS_RECORD_BYTES 16384        /* the most that one record holds */
#define TLS_TURN_BYTES   (64u * 1024) /* read from a socket before the next one gets its turn */

struct tls_stream {
	SSL *ssl;               /* owned */
	struct socket_bio wire; /* owned but for the socket */
};

/*
 * `wire` has the socket, and perhaps the first bytes; the stream stays where it is until
 * tls_stream_done(), also after a failure. A server or a client, as the context is. 0 or -ENOMEM.
 */
int tls_stream_init(struct tls_stream *stream, SSL_CTX *context);
/* Sends nothing: the peer can see that the stream was cut, unless it was ended before. */
void tls_stream_done(struct tls_stream *stream);
/* To be called until it returns 0. -EPROTO: it failed, and the peer has been sent the alert. */
int tls_stream_shake(struct tls_stream *stream);
/*
 * The number of bytes; 0: the peer has ended its side; -EPROTO: an error, or the end without a
 * word (wire.over). With room for a record none of its bytes are held back.
 */
ssize_t tls_stream_receive(struct tls_stream *stream, void *data, size_t size);
/*
 * The number of bytes, at most a record's. A record that was begun must be finished with the same
 * bytes, from any place.
 */
ssize_t tls_stream_send(struct tls_stream *stream, const void *data, size_t size);
/* Tells the peer that no more will come. 0, also if that is impossible, or TLS_WANTS_OUTPUT. */
int tls_stream_end(struct tls_stream *stream);
#endif
