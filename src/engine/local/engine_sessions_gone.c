/* SPDX-License-Identifier: Apache-2.0 */
/* The session object, and the tombstones of sessions that are gone. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "engine/local/engine_local.h"

#define TOMBSTONE_NS        3600000000000ull
#define TOMBSTONES_MAX      4096
#define TOMBSTONES_A_TENANT 256

uint64_t local_wall_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

void local_time_text(uint64_t ms, char *text, size_t size)
{
	time_t seconds = (time_t)(ms / 1000u);
	struct tm parts;
	char day[32];

	if (!gmtime_r(&seconds, &parts) ||
	    !strftime(day, sizeof(day), "%Y-%m-%dT%H:%M:%S", &parts)) {
		snprintf(day, sizeof(day), "1970-01-01T00:00:00");
	}
	snprintf(text, size, "%.19s.%03uZ", day, (unsigned)(ms % 1000u));
}

static void drop(struct local_tombstone **at)
{
	struct local_tombstone *old = *at;

	*at = old->next;
	free(old->tenant);
	free(old);
}

/* Tenants cannot displace each other's: the oldest of the same tenant are removed first. */
static void trim(struct local *local, const char *tenant)
{
	uint64_t now = clock_now_ns();
	unsigned all = 0, own = 0;

	for (struct local_tombstone **at = &local->tombstones; *at;) {
		bool same = strcmp((*at)->tenant, tenant) == 0;
		if (now - (*at)->ended_ns > TOMBSTONE_NS || all >= TOMBSTONES_MAX ||
		    (same && own >= TOMBSTONES_A_TENANT)) {
			drop(at);
			continue;
		}
		all++;
		own += same;
		at = &(*at)->next;
	}
}

void local_tombstone_add(const struct local_session *session, const char *reason)
{
	struct local *local = session->local;
	struct local_tombstone *stone = calloc(1, sizeof(*stone));

	if (!stone) {
		return;
	}
	*stone = (struct local_tombstone){
		.next = local->tombstones,
		.tenant = strdup(session->tenant),
		.created_ms = session->created_ms,
		.idle_ns = session->idle_ns,
		.runs = session->runs,
		.ended_ms = local_wall_ms(),
		.ended_ns = clock_now_ns(),
	};
	if (!stone->tenant) {
		free(stone);
		return;
	}
	memcpy(stone->id, session->id, sizeof(stone->id));
	memcpy(stone->language, session->language, sizeof(stone->language));
	memcpy(stone->policy, session->policy, sizeof(stone->policy));
	snprintf(stone->reason, sizeof(stone->reason), "%s", reason);
	local->tombstones = stone;
	trim(local, session->tenant);
	local_watcher_look(local);
}

const struct local_tombstone *local_tombstone_find(struct local *local,
						   const struct engine_call *call)
{
	trim(local, call->tenant);
	for (const struct local_tombstone *stone = local->tombstones; stone; stone = stone->next) {
		if (strcmp(stone->id, call->session) == 0) {
			return strcmp(stone->tenant, call->tenant) == 0 ? stone : NULL;
		}
	}
	return NULL;
}

void local_tombstones_free(struct local *local)
{
	while (local->tombstones) {
		drop(&local->tombstones);
	}
}

/* --- the watcher ----------------------------------------------------------------------------- */

static void tell(void *user)
{
	struct engine_run *run = user;
	struct json_out json = { .buf = &run->answer };

	json_open(&json, NULL, '{');
	json_open(&json, "ended", '[');
	for (struct local_tombstone *it = run->local->tombstones; it; it = it->next) {
		if (!it->told) {
			json_open(&json, NULL, '{');
			json_text(&json, "tenant", it->tenant);
			json_text(&json, "id", it->id);
			json_text(&json, "reason", it->reason);
			json_u64(&json, "runs", it->runs);
			json_close(&json, '}');
			it->told = true;
		}
	}
	json_close(&json, ']');
	local_bills_print(run->local, &json);
	json_close(&json, '}');
	local_finish(run);
}

void local_watcher_end(struct local *local)
{
	struct engine_run *run = local->watcher;

	run->answered = run->answered.place ? run->answered
					    : (struct loop_timer){ .due = tell, .user = run };
	/* Without memory for a timer it is reported with the next one. */
	(void)loop_timer_set(local->loop, &run->answered, clock_now_ns());
}

void local_watcher_look(struct local *local)
{
	const struct local_tombstone *stone = local->watcher ? local->tombstones : NULL;

	while (stone && stone->told) {
		stone = stone->next;
	}
	if (stone) {
		local_watcher_end(local);
	}
}

int local_session_ended(struct local *local, const struct engine_call *call, struct engine_run *run,
			struct brig_error *err)
{
	(void)call;
	if (local->watcher) {
		return error_set(err, BRIG_E_INPUT, EBUSY,
				 "another call is already waiting for it");
	}
	local->watcher = run;
	local_watcher_look(local);
	local_bills_look(local);
	return 0;
}

/* --- session objects ------------------------------------------------------------------------- */

void local_session_print(struct json_out *json, const struct local_session_facts *facts)
{
	char created[32];

	local_time_text(facts->created_ms, created, sizeof(created));
	json_open(json, NULL, '{');
	json_text(json, "id", facts->id);
	json_text(json, "language", facts->language);
	json_text(json, "policy", facts->policy);
	json_text(json, "state", facts->state);
	json_text(json, "created_at", created);
	json_text(json, "expires_at", facts->expires);
	json_ms(json, "idle_timeout_ms", facts->idle_ns);
	json_u64(json, "runs", facts->runs);
	json_text(json, "reason", facts->reason);
	json_close(json, '}');
}

void local_tombstone_print(struct json_out *json, const struct local_tombstone *stone)
{
	struct local_session_facts facts = {
		.id = stone->id,
		.language = stone->language,
		.policy = stone->policy,
		.state = "gone",
		.reason = stone->reason,
		.created_ms = stone->created_ms,
		.idle_ns = stone->idle_ns,
		.runs = stone->runs,
	};

	local_time_text(stone->ended_ms, facts.expires, sizeof(facts.expires));
	local_session_print(json, &facts);
}
