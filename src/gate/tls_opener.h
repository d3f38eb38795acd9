/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the operator wants TLS to a host opened: one end of TLS for the cell, another for the host,
 * and between them what HTTP in clear goes through as well. Only a gate that is built with it has
 * an opener (src/gate_tls); in all others TLS passes as it is.
 */
#ifndef BRIG_GATE_TLS_OPENER_H
#define BRIG_GATE_TLS_OPENER_H

#include "gate/gate.h"

/* One end of TLS. Read by whoever made it, written by the opener. */
struct tls_end {
	bool open;    /* they have shaken hands, and the other one is who it must be */
	bool failed;  /* it is over, and was not meant to be */
	bool ragged;  /* the other one has ended without saying so */
	bool flushed; /* we have ended, and all that we had to say has gone */
	enum gate_cause cause;
};

struct tls_end_options {
	const char *host; /* one that gate_opens() */
	int wire;         /* taken, also on failure */
	const char *first;
	size_t first_size; /* what has been read from the wire already */
	/* Something of struct tls_end has changed. It may be freed from there. */
	void (*changed)(void *user);
	void *user;
};

struct tls_opener {
	/*
	 * Before the seal, when all orders have come: makes the cell's authority, and whatever is
	 * signed by it; the key that signs is gone when this returns. `ret` says what the trouble
	 * is, too. 0 or -errno.
	 */
	int (*prepare)(struct gate *gate, struct gate_authority *ret);
	/* `plain`, the caller's: a socket that has the content. 0 or -errno. */
	int (*accept)(struct gate *gate, const struct tls_end_options *options,
		      struct tls_end **ret, int *plain);
	int (*connect)(struct gate *gate, const struct tls_end_options *options,
		       struct tls_end **ret, int *plain);
	/* It ends as raggedly as the other one did. */
	void (*follow)(struct tls_end *end, const struct tls_end *other);
	/* `reset`: the other one shall see that it was cut off. NULL does nothing. */
	void (*free)(struct tls_end *end, bool reset);
};
#endif
