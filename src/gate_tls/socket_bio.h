/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A socket as OpenSSL sees it. By our own functions: recv() and send() are what the seal allows,
 * and what the gate has read before it knew that this is TLS comes first.
 */
#ifndef BRIG_GATE_TLS_SOCKET_BIO_H
#define BRIG_GATE_TLS_SOCKET_BIO_H

#include <openssl/bio.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct socket_bio {
	int fd; /* owned */
	struct buf first;
	size_t first_taken;
	size_t left; /* how much it may take in this turn: records can be without content */
	bool over;   /* nothing comes any more */
	uint64_t received, sent;
};

/* NULL: no memory. Once. */
BIO_METHOD *socket_bio_method_new(void);
/* Borrows the wire. NULL: no memory. */
BIO *socket_bio_new(const BIO_METHOD *method, struct socket_bio *wire);
#endif
