/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For hosts whose TLS the operator wants opened: one end of TLS for the cell, another for the host,
 * and plain HTTP between them, which is inspected as usual. Only a gate that is built with it has
 * an opener (src/gate_tls); in all others TLS passes unopened.
 */
#ifndef BRIG_GATE_TLS_OPENER_H
#define BRIG_GATE_TLS_OPENER_H

#include "gate/gate.h"

/* One end of TLS. Written by the opener, read by the caller that made it. */
struct tls_end {
	bool open;    /* the handshake is done, and the peer has proved its identity */
	bool failed;  /* it ended with an error */
	bool ragged;  /* the peer has closed without a close_notify */
	bool flushed; /* this side is closed, and all bytes are sent */
	enum gate_cause cause;
};

struct tls_end_options {
	const char *host; /* one for which gate_opens() is true */
	int wire;         /* taken, also on failure */
	const char *first;
	size_t first_size; /* bytes already read from the socket */
	/* A field of struct tls_end has changed. The end may be freed from this callback. */
	void (*changed)(void *user);
	void *user;
};

struct tls_opener {
	/*
	 * Before the seal, after all messages have come: makes the cell's authority, and all
	 * certificates that it signs; the signing key is erased when this returns. `ret` also has
	 * the reason of a failure. 0 or -errno.
	 */
	int (*prepare)(struct gate *gate, struct gate_authority *ret);
	/* `plain`, owned by the caller: a socket that carries the content. 0 or -errno. */
	int (*accept)(struct gate *gate, const struct tls_end_options *options,
		      struct tls_end **ret, int *plain);
	int (*connect)(struct gate *gate, const struct tls_end_options *options,
		       struct tls_end **ret, int *plain);
	/* Closes this end as cleanly or uncleanly as `other` was closed. */
	void (*follow)(struct tls_end *end, const struct tls_end *other);
	/* `reset`: the peer shall see that it was cut off. NULL does nothing. */
	void (*free)(struct tls_end *end, bool reset);
};
#endif
