/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A socket as OpenSSL sees it (a BIO). It has functions of its own: none blocks and none raises a
 * signal, a seal allows only recv() and send(), and bytes that were read before TLS was detected
 * come first.
 */
#ifndef BRIG_TLS_SOCKET_BIO_H
#define BRIG_TLS_SOCKET_BIO_H

#include <openssl/bio.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/bytes/buf.h"

struct socket_bio {
	int fd; /* the user's */
	struct buf first;
	size_t first_taken;
	size_t left;  /* how many bytes it may read in this turn: records can be without content */
	bool over;    /* end of input */
	char opening; /* the first byte that was received, if any was */
	uint64_t received, sent;
};

/* Borrows `wire`. NULL: no memory. */
BIO *socket_bio_new(struct socket_bio *wire);
#endif
