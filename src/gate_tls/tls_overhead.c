/* SPDX-License-Identifier: Apache-2.0 */
/* Tolls: see tls_overhead.h. */
#include "gate_tls/tls_overhead.h"

/* A record that has come in part, or is not opened yet, may still become content. */
#define RECORD_ROOM (5 + 16384 + 256)

size_t toll_room(const struct toll *toll, size_t most)
{
	uint64_t budget = toll->gate ? gate_budget(toll->gate) : UINT64_MAX;

	return budget < most ? (size_t)budget : most;
}

static uint64_t above(uint64_t all, uint64_t part)
{
	return all > part ? all - part : 0;
}

bool toll_pay(struct toll *toll, const struct wire *wire, bool over)
{
	uint64_t due = above(wire->sent, toll->sealed) +
		       above(wire->received, toll->unsealed + (over ? 0 : RECORD_ROOM));

	if (!toll->gate || due <= toll->paid) {
		return true;
	}
	due -= toll->paid;
	toll->paid += due;
	return gate_pay(toll->gate, due);
}
