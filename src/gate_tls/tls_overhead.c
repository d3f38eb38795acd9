/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that TLS adds: see tls_overhead.h. */
#include "gate_tls/tls_overhead.h"

/* A record that is incomplete, or not decrypted yet, may still become content. */
#define RECORD_ROOM (5 + 16384 + 256)

size_t tls_overhead_room(const struct tls_overhead *overhead, size_t most)
{
	uint64_t budget = overhead->gate ? gate_budget(overhead->gate) : UINT64_MAX;

	return budget < most ? (size_t)budget : most;
}

static uint64_t above(uint64_t all, uint64_t part)
{
	return all > part ? all - part : 0;
}

bool tls_overhead_charge(struct tls_overhead *overhead, const struct socket_bio *wire, bool over)
{
	uint64_t due = above(wire->sent, overhead->sealed) +
		       above(wire->received, overhead->unsealed + (over ? 0 : RECORD_ROOM));

	if (!overhead->gate || due <= overhead->paid) {
		return true;
	}
	due -= overhead->paid;
	overhead->paid += due;
	return gate_charge(overhead->gate, due);
}
