/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limit on bytes, in both directions and of all connections together: the bytes that
 * connections carry, DNS queries with their answers, and the bytes that TLS adds where it is
 * opened. All bytes that could carry a message count.
 */
#include "base/clock.h"
#include "gate/gate.h"

uint64_t gate_budget(const struct gate *gate)
{
	return gate->limits.bytes > gate->bytes ? gate->limits.bytes - gate->bytes : 0;
}

void gate_end_budget(struct gate *gate)
{
	report_spent(gate);
	connection_free_all(gate);
}

static void on_spent(void *user)
{
	gate_end_budget(user);
}

bool gate_charge(struct gate *gate, uint64_t bytes)
{
	if (bytes < gate_budget(gate)) {
		gate->bytes += bytes;
		gate->extra_bytes += bytes;
		return true;
	}
	if (gate->spent || gate->spending.due) {
		return false;
	}
	gate->bytes = gate->limits.bytes;
	/* From the loop: the caller is still using connections that this would free. */
	gate->spending = (struct loop_timer){ .due = on_spent, .user = gate };
	if (loop_timer_set(gate->loop, &gate->spending, clock_now_ns()) < 0) {
		report_spent(gate);
	}
	return false;
}
