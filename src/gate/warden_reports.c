/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reports to the warden. They never block: a warden that does not read loses records. Of very many
 * connections only the first are reported one by one, and after that a few per second: a session
 * lives long, and the connections of its later runs must be reported as well.
 */
#include <errno.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "gate/gate.h"

#define REPORT_AGAIN_NS 100000000u

static bool may_report(struct report_rate *rate)
{
	uint64_t now = clock_now_ns(), again = (now - rate->last_ns) / REPORT_AGAIN_NS;

	if (again) {
		rate->count -= again < rate->count ? (unsigned)again : rate->count;
		rate->last_ns = now;
	}
	return rate->count < GATE_TOLD_MAX;
}

static int send_record(const void *record, size_t size)
{
	return send(GATE_FD_WARDEN, record, size, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

void report_connection(struct gate *gate, const struct gate_connection *record)
{
	bool refused = gate_is_refusal(record->verdict);
	/* Each kind has a limit of its own, so that many of one kind do not hide another. */
	struct report_rate *rate = !refused       ? &gate->rate_allowed
				   : record->port ? &gate->rate_refused
						  : &gate->rate_names;

	struct gate_connection whole = *record;

	whole.extra_bytes = gate->extra_bytes;
	if (may_report(rate) && send_record(&whole, sizeof(whole)) == 0) {
		rate->count++;
		gate->extra_bytes = 0;
		return;
	}
	gate->unreported++;
	if (refused) {
		report_refused(gate);
	}
}

/* The total so far: if this record is lost, the next one includes it. */
void report_refused(struct gate *gate)
{
	struct gate_word word = { .kind = GATE_REFUSED, .value = (uint32_t)++gate->refused };

	send_record(&word, sizeof(word));
}

void report_authority(const struct gate_authority *authority)
{
	send_record(authority, sizeof(*authority));
}

void report_spent(struct gate *gate)
{
	struct gate_word word = { .kind = GATE_SPENT };

	if (!gate->spent) {
		gate->spent = true;
		send_record(&word, sizeof(word));
	}
}

void report_total(struct gate *gate)
{
	struct gate_total total = {
		.kind = GATE_TOTAL,
		.untold = gate->unreported,
		.connections = gate->made,
		.refused = gate->refused,
		.bytes = gate->bytes,
	};

	send_record(&total, sizeof(total));
}
