/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A socket as OpenSSL sees it (a BIO). It has functions of its own: the seal allows only recv() and
 * send(), and bytes that the gate has read before it detected TLS come first.
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
	size_t left; /* how many bytes it may read in this turn: records can be without content */
	bool over;   /* end of input */
	uint64_t received, sent;
};

/* To be made once. NULL: no memory. */
BIO_METHOD *socket_bio_method_new(void);
/* Borrows `wire`. NULL: no memory. */
BIO *socket_bio_new(const BIO_METHOD *method, struct socket_bio *wire);
#endif
