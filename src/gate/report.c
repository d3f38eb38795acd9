/* SPDX-License-Identifier: Apache-2.0 */
/* What the warden is told. Never waits for it: a warden that does not read loses lines. */
#include <errno.h>
#include <sys/socket.h>

#include "gate/gate.h"

static int say(const void *record, size_t size)
{
	return send(GATE_FD_WARDEN, record, size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

void report_connection(struct gate *gate, const struct gate_connection *record)
{
	gate->refused += record->verdict != GATE_ALLOWED;
	if (gate->told >= GATE_TOLD_MAX || say(record, sizeof(*record)) < 0) {
		gate->untold++;
	} else {
		gate->told++;
	}
}

void report_spent(struct gate *gate)
{
	struct gate_word word = { .kind = GATE_SPENT };

	if (!gate->spent) {
		gate->spent = true;
		say(&word, sizeof(word));
	}
}

void report_total(struct gate *gate)
{
	struct gate_total total = {
		.kind = GATE_TOTAL,
		.untold = gate->untold,
		.connections = gate->made,
		.refused = gate->refused,
		.bytes = gate->bytes,
	};

	say(&total, sizeof(total));
}
