/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of a result: see result_facts.h. */
#include "ledger/store/result_facts.h"

#include <stdlib.h>
#include <string.h>

#include <brig/brig.h>

#include "base/cleanup.h"
#include "base/json/json_out.h"
#include "base/limits.h"

#define TEXT_MAX        256
#define CONNECTIONS_MAX 8
#define EVENTS_MAX      8

const char *result_status(const json_t *result)
{
	const char *status = json_string_value(json_object_get(result, "status"));

	for (int i = BRIG_OK; status && i <= BRIG_ERROR; i++) {
		const char *name = brig_status_name((enum brig_status)i);
		if (strcmp(status, name) == 0) {
			return name;
		}
	}
	return NULL;
}

/* Short texts and numbers; brig itself writes no longer ones. */
static void add_fact(struct json_out *out, const char *key, const json_t *value)
{
	char number[32];

	if (json_is_string(value) && json_string_length(value) <= TEXT_MAX) {
		json_textn(out, key, json_string_value(value), json_string_length(value));
	} else if (json_is_integer(value)) {
		json_int(out, key, json_integer_value(value));
	} else if (json_is_real(value)) {
		size_t size = json_dumpb(value, number, sizeof(number) - 1,
					 JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
		number[size < sizeof(number) ? size : 0] = '\0';
		json_raw(out, key, size < sizeof(number) ? number : "0");
	} else {
		json_nil(out, key);
	}
}

/* Sorted keys, here and below: that is the canonical form. */
static const char *const verdict_keys[] = { "cause", "limit", "limit_name", "peak", NULL };
static const char *const denial_keys[] = { "call", "count", "meaning", "reason", NULL };
static const char *const usage_keys[] = { "cpu_ms",    "disk_bytes",     "memory_peak_bytes",
					  "net_bytes", "processes_peak", "wall_ms",
					  NULL };
static const enum brig_event_kind event_order[BRIG_EVENT_KINDS] = {
	BRIG_EVENT_CALL_DENIED,  BRIG_EVENT_CALL_WATCHED,  BRIG_EVENT_CONNECTION_REFUSED,
	BRIG_EVENT_FILE_WATCHED, BRIG_EVENT_GUARD_REFUSED, BRIG_EVENT_LIMIT_TOUCHED,
};

static void add_part(struct json_out *out, const char *key, const json_t *from,
		     const char *const *keys)
{
	if (!json_is_object(from)) {
		json_nil(out, key);
		return;
	}
	json_open(out, key, '{');
	for (size_t i = 0; keys[i]; i++) {
		add_fact(out, keys[i], json_object_get(from, keys[i]));
	}
	json_close(out, '}');
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void add_limits(struct json_out *out, const json_t *limits)
{
	const char *names[LIMITS_COUNT + 1] = { NULL };

	for (size_t i = 0; i < LIMITS_COUNT; i++) {
		names[i] = limit_table[i].name;
	}
	qsort(names, LIMITS_COUNT, sizeof(names[0]), compare_names);
	add_part(out, "limits", limits, names);
}

/* The hosts that it connected to, or tried to; only for runs that had a network. */
static void add_network(struct json_out *out, const json_t *list)
{
	static const char *const keys[] = { "address", "bytes_down", "bytes_up", "host",
					    "port",    "verdict",    NULL };
	size_t count = json_array_size(list);

	if (!json_is_array(list)) {
		return;
	}
	json_open(out, "network", '[');
	for (size_t i = 0; i < count && i < CONNECTIONS_MAX; i++) {
		add_part(out, NULL, json_array_get(list, i), keys);
	}
	json_close(out, ']');
}

/* Notable events of the run; runs without any have no such facts. */
static void add_events(struct json_out *out, const json_t *result)
{
	static const char *const keys[] = {
		"count", "first_ms", "kind", "reason", "subject", NULL
	};
	const json_t *list = json_object_get(result, "events");
	const json_t *counts = json_object_get(result, "event_counts");
	json_int_t total = 0;

	for (unsigned i = 0; i < BRIG_EVENT_KINDS; i++) {
		total += json_integer_value(json_object_get(counts, brig_event_name(i)));
	}
	if (total == 0) {
		return;
	}
	json_open(out, "event_counts", '{');
	for (unsigned i = 0; i < BRIG_EVENT_KINDS; i++) {
		const char *name = brig_event_name(event_order[i]);
		add_fact(out, name, json_object_get(counts, name));
	}
	json_close(out, '}');
	json_open(out, "events", '[');
	for (size_t i = 0; i < json_array_size(list) && i < EVENTS_MAX; i++) {
		add_part(out, NULL, json_array_get(list, i), keys);
	}
	json_close(out, ']');
}

/* From the result, or else from the request. */
static void add_either(struct json_out *out, const char *key, const json_t *result,
		       const char *asked)
{
	const json_t *value = json_object_get(result, key);

	if (json_is_string(value)) {
		add_fact(out, key, value);
	} else {
		json_text(out, key, asked);
	}
}

void result_facts(const struct result_origin *origin, const json_t *result, struct buf *buf)
{
	struct json_out out = { .buf = buf };
	const json_t *verdict = json_object_get(result, "verdict");

	json_open(&out, NULL, '{');
	json_text(&out, "caller", origin->caller);
	json_text(&out, "code_sha256", origin->code_sha256);
	add_part(&out, "denial", json_object_get(verdict, "denial"), denial_keys);
	add_events(&out, result);
	json_text(&out, "execution", origin->execution);
	add_fact(&out, "exit_code", json_object_get(result, "exit_code"));
	add_either(&out, "language", result, origin->language);
	add_limits(&out, json_object_get(result, "limits"));
	add_network(&out, json_object_get(result, "network"));
	add_either(&out, "policy", result, origin->policy);
	add_fact(&out, "provider", json_object_get(result, "provider"));
	add_fact(&out, "runtime", json_object_get(result, "runtime"));
	json_text(&out, "session", origin->session);
	add_fact(&out, "signal", json_object_get(result, "signal"));
	add_fact(&out, "start", json_object_get(result, "start"));
	json_text(&out, "status", result_status(result));
	add_part(&out, "usage", json_object_get(result, "usage"), usage_keys);
	add_part(&out, "verdict", verdict, verdict_keys);
	json_close(&out, '}');
}
