/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processor time that is in no result: time that sessions use between their runs, the runs of
 * forks, and runs that failed after their compiler had run or whose client has left. It is summed
 * up for each caller and reported to the watcher, once a second at most.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "engine/local/engine_local.h"
#include "lib/session/session.h"

#define BILLS_MAX 4096 /* callers: tokens and local users, which the operator defines */
#define TELL_NS   UINT64_C(1000000000)

struct local_bill {
	struct local_bill *next;
	char tenant[LOCAL_CALLER_MAX + 1], caller[LOCAL_CALLER_MAX + 1];
	uint64_t cpu_ns;
};

static void bills_due(void *user)
{
	struct local *local = user;

	if (local->watcher) {
		local_watcher_end(local);
	}
}

void local_bills_look(struct local *local)
{
	if (local->bills && local->watcher && !local->bills_due.place) {
		local->bills_due = (struct loop_timer){ .due = bills_due, .user = local };
		/* Without memory for a timer it is included in the next report. */
		(void)loop_timer_set(local->loop, &local->bills_due, clock_now_ns() + TELL_NS);
	}
}

static struct local_bill *bill_of(struct local *local, const char *tenant, const char *caller)
{
	for (struct local_bill *it = local->bills; it; it = it->next) {
		if (strcmp(it->caller, caller) == 0 && strcmp(it->tenant, tenant) == 0) {
			return it;
		}
	}
	struct local_bill *bill = local->bills_count < BILLS_MAX ? calloc(1, sizeof(*bill)) : NULL;
	if (bill) {
		snprintf(bill->tenant, sizeof(bill->tenant), "%s", tenant);
		snprintf(bill->caller, sizeof(bill->caller), "%s", caller);
		bill->next = local->bills;
		local->bills = bill;
		local->bills_count++;
	}
	return bill;
}

void local_bill(struct local *local, const char *tenant, const char *caller, uint64_t cpu_ns)
{
	struct local_bill *bill =
		cpu_ns && tenant && caller && *caller ? bill_of(local, tenant, caller) : NULL;

	if (bill) {
		bill->cpu_ns += cpu_ns;
		local_bills_look(local);
	}
}

void local_bill_session(struct local_session *session)
{
	uint64_t used_ns = session->session ? session_idle_cpu_ns(session->session) : 0;

	if (used_ns > session->billed_ns) {
		local_bill(session->local, session->tenant, session->caller,
			   used_ns - session->billed_ns);
		session->billed_ns = used_ns;
	}
}

void local_bills_print(struct local *local, struct json_out *json)
{
	json_open(json, "used", '[');
	for (const struct local_bill *it = local->bills; it; it = it->next) {
		json_open(json, NULL, '{');
		json_text(json, "tenant", it->tenant);
		json_text(json, "caller", it->caller);
		json_ms(json, "cpu_ms", it->cpu_ns);
		json_close(json, '}');
	}
	json_close(json, ']');
	local_bills_free(local);
}

void local_bills_free(struct local *local)
{
	loop_timer_clear(&local->bills_due);
	while (local->bills) {
		struct local_bill *bill = local->bills;

		local->bills = bill->next;
		free(bill);
	}
	local->bills_count = 0;
}
