/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the bytes that TLS adds on the way to a host as bytes of the network: handshakes, record
 * headers, padding. The content is counted by the connection that passes it on.
 */
#ifndef BRIG_GATE_TLS_TLS_OVERHEAD_H
#define BRIG_GATE_TLS_TLS_OVERHEAD_H

#include "gate/gate.h"
#include "tls/socket_bio.h"

struct tls_overhead {
	struct gate *gate;         /* NULL: not charged, for the cell's own end */
	uint64_t sealed, unsealed; /* content, so far */
	uint64_t paid;
};

/* How many bytes may be read from the network in one turn. */
size_t tls_overhead_room(const struct tls_overhead *overhead, size_t most);
/*
 * Charges all bytes since the last call; `over`: no more will come. false: the limit is reached,
 * and the run ends soon.
 */
bool tls_overhead_charge(struct tls_overhead *overhead, const struct socket_bio *wire, bool over);
#endif
