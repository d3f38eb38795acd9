/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The limit on bytes, both ways and of all together: what connections carry, questions for names
 * with their answers, and what TLS adds where it is opened. Whatever can carry a message counts.
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
	/* From the loop: whoever pays is in the middle of something that this would free. */
	gate->spending = (struct loop_timer){ .due = on_spent, .user = gate };
	if (loop_timer_set(gate->loop, &gate->spending, clock_now_ns()) < 0) {
		report_spent(gate);
	}
	return false;
}
