/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the warden is told. Never waits for it: a warden that does not read loses lines. Of very
 * many connections only the first are told one by one, and then as many as a slow clock allows: a
 * session goes on for long, and what its later runs connect to must not stay unsaid.
 */
#include <errno.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "gate/gate.h"

#define TELL_AGAIN_NS 100000000u

static bool may_tell(struct telling *telling)
{
	uint64_t now = clock_now_ns(), again = (now - telling->last_ns) / TELL_AGAIN_NS;

	if (again) {
		telling->told -= again < telling->told ? (unsigned)again : telling->told;
		telling->last_ns = now;
	}
	return telling->told < GATE_TOLD_MAX;
}

static int say(const void *record, size_t size)
{
	return send(GATE_FD_WARDEN, record, size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

void report_connection(struct gate *gate, const struct gate_connection *record)
{
	bool refused = gate_is_refusal(record->verdict);
	/* Each has room of its own, so that none of them is hidden by many of the others. */
	struct telling *telling = !refused       ? &gate->told
				  : record->port ? &gate->told_refused
						 : &gate->told_names;

	struct gate_connection whole = *record;

	whole.extra_bytes = gate->extra_bytes;
	if (may_tell(telling) && say(&whole, sizeof(whole)) == 0) {
		telling->told++;
		gate->extra_bytes = 0;
		return;
	}
	gate->untold++;
	if (refused) {
		report_refused(gate);
	}
}

/* The count so far: if this one is lost, the next one makes up for it. */
void report_refused(struct gate *gate)
{
	struct gate_word word = { .kind = GATE_REFUSED, .value = (uint32_t)++gate->refused };

	say(&word, sizeof(word));
}

void report_authority(const struct gate_authority *authority)
{
	say(authority, sizeof(*authority));
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
