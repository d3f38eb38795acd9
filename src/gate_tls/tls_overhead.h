/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What TLS adds on the way to a host counts as bytes of the network: handshakes, heads of records,
 * padding. The content is counted by whoever passes it on.
 */
#ifndef BRIG_GATE_TLS_TLS_OVERHEAD_H
#define BRIG_GATE_TLS_TLS_OVERHEAD_H

#include "gate/gate.h"
#include "gate_tls/socket_bio.h"

struct tls_overhead {
	struct gate *gate;         /* NULL: nothing is to be paid, for the cell's own end */
	uint64_t sealed, unsealed; /* content, so far */
	uint64_t paid;
};

/* How much may come by the wire in one turn. */
size_t tls_overhead_room(const struct tls_overhead *overhead, size_t most);
/*
 * Pays for what has gone by the wire since the last time; `over`: nothing comes any more. false:
 * the limit is reached, and soon all is over.
 */
bool tls_overhead_charge(struct tls_overhead *overhead, const struct socket_bio *wire, bool over);
#endif
