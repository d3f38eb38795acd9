/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The result object, except for its long parts, which result_writer.c writes:
 * data/schema/result.schema.json describes it.
 */
#include <string.h>

#include <brig/brig.h>

#include "base/cleanup.h"
#include "base/json/json_out.h"
#include "lib/api/result_writer.h"
#include "policy/policy.h"

static const char *const status_names[] = {
	[BRIG_OK] = "ok",
	[BRIG_FAILED] = "failed",
	[BRIG_COMPILE_FAILED] = "compile_failed",
	[BRIG_TIMEOUT] = "timeout",
	[BRIG_CPU_LIMIT] = "cpu_limit",
	[BRIG_MEMORY_LIMIT] = "memory_limit",
	[BRIG_PROCESS_LIMIT] = "process_limit",
	[BRIG_DISK_LIMIT] = "disk_limit",
	[BRIG_OUTPUT_LIMIT] = "output_limit",
	[BRIG_NETWORK_LIMIT] = "network_limit",
	[BRIG_DENIED] = "denied",
	[BRIG_REJECTED] = "rejected",
	[BRIG_CANCELLED] = "cancelled",
	[BRIG_LOST] = "lost",
	[BRIG_ERROR] = "error",
};

static const char *const code_names[] = {
	[BRIG_E_NONE] = "none",       [BRIG_E_INPUT] = "input", [BRIG_E_POLICY] = "policy",
	[BRIG_E_RUNTIME] = "runtime", [BRIG_E_HOST] = "host",   [BRIG_E_CONSENT] = "consent",
	[BRIG_E_SYSTEM] = "system",
};

const char *brig_status_name(enum brig_status status)
{
	return (size_t)status < ARRAY_SIZE(status_names) ? status_names[status] : "error";
}

const char *brig_code_name(enum brig_code code)
{
	return (size_t)code < ARRAY_SIZE(code_names) ? code_names[code] : "system";
}

/* In the struct "" means "none". */
static void text_or_nil(struct json_out *out, const char *key, const char *text)
{
	json_text(out, key, text[0] ? text : NULL);
}

/* Times are counted in nanoseconds and printed in milliseconds; their names end in _ms. */
static bool is_time(const char *name)
{
	size_t length = strlen(name);

	return length > 3 && strcmp(name + length - 3, "_ms") == 0;
}

static void quantity(struct json_out *out, const char *key, const char *name, uint64_t value)
{
	if (is_time(name)) {
		json_ms(out, key, value);
	} else {
		json_u64(out, key, value);
	}
}

static const char *change_name(char kind)
{
	return kind == 'c' ? "created" : kind == 'm' ? "modified" : "deleted";
}

void result_json_change(struct json_out *out, const struct brig_change *change)
{
	json_open(out, NULL, '{');
	json_text(out, "path", change->path);
	json_text(out, "kind", change_name(change->kind));
	json_u64(out, "size", change->size);
	text_or_nil(out, "sha256", change->sha256);
	json_close(out, '}');
}

static void add_network(struct json_out *out, const struct brig_result *result)
{
	if (!result->networked) {
		return;
	}
	json_open(out, "network", '[');
	for (size_t i = 0; i < result->connections_count; i++) {
		const struct brig_connection *connection = &result->connections[i];

		json_open(out, NULL, '{');
		json_text(out, "host", connection->host);
		json_u64(out, "port", connection->port);
		text_or_nil(out, "address", connection->address);
		json_text(out, "verdict", connection->verdict);
		json_u64(out, "bytes_up", connection->bytes_up);
		json_u64(out, "bytes_down", connection->bytes_down);
		json_ms(out, "ms", connection->took_ns);
		if (connection->reason) {
			json_text(out, "reason", connection->reason);
		}
		json_close(out, '}');
	}
	json_close(out, ']');
	json_u64(out, "network_untold", result->connections_untold);
}

static void add_events(struct json_out *out, const struct brig_result *result)
{
	json_open(out, "events", '[');
	for (size_t i = 0; i < result->events_count; i++) {
		const struct brig_event *event = &result->events[i];

		json_open(out, NULL, '{');
		json_text(out, "kind", brig_event_name(event->kind));
		json_text(out, "subject", event->subject);
		json_text(out, "reason", event->reason);
		json_u64(out, "count", event->count);
		json_ms(out, "first_ms", event->first_ns);
		json_close(out, '}');
	}
	json_close(out, ']');
	json_u64(out, "events_dropped", result->events_dropped);
	json_open(out, "event_counts", '{');
	for (unsigned i = 0; i < BRIG_EVENT_KINDS; i++) {
		json_u64(out, brig_event_name(i), result->event_counts[i]);
	}
	json_close(out, '}');
}

static void add_denial(struct json_out *out, const struct brig_result *result)
{
	const struct brig_denial *denial = &result->denial;

	if (!result->denied) {
		json_nil(out, "denial");
		return;
	}
	json_open(out, "denial", '{');
	json_text(out, "call", denial->call);
	json_text(out, "meaning", denial->meaning);
	json_text(out, "reason", denial->reason);
	json_u64(out, "count", denial->count);
	json_close(out, '}');
}

static void add_refusal(struct json_out *out, const struct brig_result *result)
{
	const struct brig_refusal *refusal = &result->refusal;

	if (!result->refused) {
		json_nil(out, "refusal");
		return;
	}
	json_open(out, "refusal", '{');
	json_text(out, "rule", refusal->rule);
	json_text(out, "reason", refusal->reason);
	if (refusal->line) {
		json_u64(out, "line", refusal->line);
		json_u64(out, "column", refusal->column);
	} else {
		json_nil(out, "line");
		json_nil(out, "column");
	}
	json_close(out, '}');
}

static void add_risk(struct json_out *out, const struct brig_result *result)
{
	const char *text = result->risk_reasons;

	if (!result->risk_known) {
		json_nil(out, "risk");
		return;
	}
	json_open(out, "risk", '{');
	json_u64(out, "score", result->risk);
	json_open(out, "reasons", '[');
	while (*text) {
		size_t length = strcspn(text, "\n");

		json_textn(out, NULL, text, length);
		text += length;
		text += *text == '\n';
	}
	json_close(out, ']');
	json_close(out, '}');
}

static void add_verdict(struct json_out *out, const struct brig_result *result)
{
	const char *name = result->limit_name;

	json_open(out, "verdict", '{');
	json_text(out, "cause", result->cause);
	text_or_nil(out, "limit_name", name);
	if (name[0]) {
		quantity(out, "limit", name, result->limit);
		quantity(out, "peak", name, result->peak);
	} else {
		json_nil(out, "limit");
		json_nil(out, "peak");
	}
	add_denial(out, result);
	add_refusal(out, result);
	text_or_nil(out, "remedy", result->remedy);
	text_or_nil(out, "operator_remedy", result->operator_remedy);
	json_close(out, '}');
}

static void add_usage(struct json_out *out, const struct brig_result *result)
{
	const struct brig_usage *usage = &result->usage;

	json_ms(out, "duration_ms", usage->wall_ns);
	json_open(out, "usage", '{');
	json_ms(out, "wall_ms", usage->wall_ns);
	json_ms(out, "cpu_ms", usage->cpu_ns);
	json_ms(out, "compile_cpu_ms", result->compile_cpu_ns);
	json_u64(out, "memory_peak_bytes", usage->memory_peak_bytes);
	json_u64(out, "processes_peak", usage->processes_peak);
	json_u64(out, "disk_bytes", usage->disk_bytes);
	json_u64(out, "net_bytes", usage->net_bytes);
	if (usage->instructions) {
		json_u64(out, "instructions", usage->instructions);
	}
	json_close(out, '}');
}

static void add_limits(struct json_out *out, const struct brig_limits *limits)
{
	struct brig_limits copy = *limits;

	json_open(out, "limits", '{');
	for (size_t i = 0; i < LIMITS_COUNT; i++) {
		const struct limit_info *info = &limit_table[i];
		quantity(out, info->name, info->name, *limit_of(&copy, info));
	}
	json_close(out, '}');
}

/* "memory=cgroup2 disk=tmpfs" as an object. */
static void add_means(struct json_out *out, const char *text)
{
	json_open(out, "means", '{');
	while (*text) {
		size_t length = strcspn(text, " ");
		size_t name = strcspn(text, "=");
		char key[32];

		if (name < length && name < sizeof(key)) {
			memcpy(key, text, name);
			key[name] = '\0';
			json_textn(out, key, text + name + 1, length - name - 1);
		}
		text += length;
		text += *text == ' ';
	}
	json_close(out, '}');
}

static void add_words(struct json_out *out, const char *key, const char *text)
{
	json_open(out, key, '[');
	while (*text) {
		size_t length = strcspn(text, " ");

		if (length) {
			json_textn(out, NULL, text, length);
		}
		text += length;
		text += *text == ' ';
	}
	json_close(out, ']');
}

void result_json_begin(struct json_out *out, const struct brig_result *result)
{
	json_open(out, NULL, '{');
	json_text(out, "id", result->id);
	json_text(out, "status", brig_status_name(result->status));
	if (result->exit_code >= 0) {
		json_int(out, "exit_code", result->exit_code);
	} else {
		json_nil(out, "exit_code");
	}
	if (result->signal > 0) {
		json_int(out, "signal", result->signal);
	} else {
		json_nil(out, "signal");
	}
}

void result_json_rest(struct json_out *out, const struct brig_result *result)
{
	add_network(out, result);
	add_verdict(out, result);
	add_events(out, result);
	add_risk(out, result);
	add_usage(out, result);
	add_limits(out, &result->limits);
	add_means(out, result->means);
	text_or_nil(out, "language", result->language);
	text_or_nil(out, "runtime", result->runtime);
	json_text(out, "policy", result->policy);
	json_text(out, "provider", result->provider);
	json_text(out, "start", result->start);
	add_words(out, "layers", result->layers);
	json_bool(out, "build_cached", result->build_cached);
	text_or_nil(out, "expires_at", result->expires_at);
	json_close(out, '}');
}

char *brig_error_json(const struct brig_error *error)
{
	struct buf buf = { 0 };
	struct json_out out = { .buf = &buf };

	json_open(&out, NULL, '{');
	json_open(&out, "error", '{');
	json_text(&out, "code", brig_code_name(error->code));
	json_text(&out, "message", error->message);
	text_or_nil(&out, "remedy", error->remedy);
	text_or_nil(&out, "step", error->step);
	json_close(&out, '}');
	json_close(&out, '}');
	return buf_take(&buf);
}
