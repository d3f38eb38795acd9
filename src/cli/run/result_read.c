/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a result from its JSON: see result_read.h. */
#include "cli/run/result_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes/base64.h"
#include "base/cleanup.h"
#include "base/files/path.h"
#include "cli/service/client.h"
#include "lib/owned.h"

#define MS 1e6

#define COPY(to, object, key) snprintf(to, sizeof(to), "%s", client_text(object, key))

static uint64_t number(json_t *object, const char *key)
{
	double value = json_number_value(json_object_get(object, key));

	return value > 0 && value < 1e18 ? (uint64_t)value : 0;
}

static uint64_t time_ns(json_t *object, const char *key)
{
	double value = json_number_value(json_object_get(object, key));

	return value > 0 && value < 1e12 ? (uint64_t)(value * MS) : 0;
}

static enum brig_status read_status(json_t *json)
{
	const char *word = client_text(json, "status");

	for (int i = BRIG_OK; i <= BRIG_ERROR; i++) {
		if (strcmp(brig_status_name((enum brig_status)i), word) == 0) {
			return (enum brig_status)i;
		}
	}
	return BRIG_ERROR;
}

static int read_file(json_t *item, struct brig_file_out *file)
{
	json_t *text = json_object_get(item, "content_base64");
	size_t size = json_string_length(text);

	*file = (struct brig_file_out){ .path = strdup(client_text(item, "path")),
					.data = malloc(size + 1) };
	if (!file->path || !file->data) {
		return -1;
	}
	size_t decoded = 0;
	if (!base64_decode(size ? json_string_value(text) : "", size, file->data, &decoded)) {
		decoded = 0;
	}
	file->size = decoded;
	file->executable = json_is_true(json_object_get(item, "executable"));
	return 0;
}

static int read_files(json_t *json, struct brig_result *result)
{
	json_t *files = json_object_get(json, "files");
	size_t count = json_array_size(files);

	result->files = calloc(count + 1, sizeof(*result->files));
	for (size_t i = 0; result->files && i < count; i++) {
		result->files_count = i + 1;
		if (read_file(json_array_get(files, i), &result->files[i]) < 0) {
			return -1;
		}
	}
	const char *note = client_text(json, "files_note");
	result->files_note = *note ? strdup(note) : NULL;
	return result->files ? 0 : -1;
}

static int read_changes(json_t *json, struct brig_result *result)
{
	json_t *changes = json_object_get(json, "changes");
	size_t count = json_array_size(changes);

	result->changes = calloc(count + 1, sizeof(*result->changes));
	for (size_t i = 0; result->changes && i < count; i++) {
		json_t *item = json_array_get(changes, i);
		struct brig_change *change = &result->changes[i];

		change->path = strdup(client_text(item, "path"));
		change->kind = client_text(item, "kind")[0];
		change->size = number(item, "size");
		result->changes_count = i + 1;
		if (!change->path) {
			return -1;
		}
	}
	return result->changes ? 0 : -1;
}

static enum brig_event_kind read_kind(json_t *event)
{
	unsigned kind = 0;

	while (kind < BRIG_EVENT_KINDS && strcmp(brig_event_name((enum brig_event_kind)kind),
						 client_text(event, "kind")) != 0) {
		kind++;
	}
	return (enum brig_event_kind)kind;
}

/* Kinds that only a newer service knows are left out. */
static int read_events(json_t *json, struct brig_result *result)
{
	json_t *events = json_object_get(json, "events");
	size_t count = json_array_size(events);

	result->networked = json_object_get(json, "network") != NULL;
	result->events = calloc(count + 1, sizeof(*result->events));
	for (size_t i = 0; i < count && result->events; i++) {
		json_t *item = json_array_get(events, i);
		struct brig_event *event = &result->events[result->events_count];
		event->kind = read_kind(item);
		COPY(event->subject, item, "subject");
		COPY(event->reason, item, "reason");
		event->count = number(item, "count");
		event->first_ns = time_ns(item, "first_ms");
		result->events_count += event->kind < BRIG_EVENT_KINDS;
	}
	return result->events ? 0 : -1;
}

static void read_verdict(json_t *json, struct brig_result *result)
{
	json_t *verdict = json_object_get(json, "verdict");
	json_t *denial = json_object_get(verdict, "denial");
	json_t *refusal = json_object_get(verdict, "refusal");

	COPY(result->cause, verdict, "cause");
	COPY(result->remedy, verdict, "remedy");
	COPY(result->operator_remedy, verdict, "operator_remedy");
	result->denied = json_is_object(denial);
	COPY(result->denial.call, denial, "call");
	COPY(result->denial.meaning, denial, "meaning");
	COPY(result->denial.reason, denial, "reason");
	result->refused = json_is_object(refusal);
	COPY(result->refusal.rule, refusal, "rule");
	COPY(result->refusal.reason, refusal, "reason");
	result->refusal.line = (uint32_t)number(refusal, "line");
	result->refusal.column = (uint32_t)number(refusal, "column");
}

static void read_usage(json_t *json, struct brig_usage *usage)
{
	json_t *used = json_object_get(json, "usage");

	usage->wall_ns = time_ns(used, "wall_ms");
	usage->cpu_ns = time_ns(used, "cpu_ms");
	usage->memory_peak_bytes = number(used, "memory_peak_bytes");
	usage->processes_peak = number(used, "processes_peak");
	usage->disk_bytes = number(used, "disk_bytes");
	usage->net_bytes = number(used, "net_bytes");
	usage->instructions = number(used, "instructions");
}

struct brig_result *result_read(json_t *json)
{
	_cleanup_(brig_result_freep)
	struct brig_result *result = calloc(1, sizeof(*result));
	json_t *code = json_object_get(json, "exit_code");
	json_t *value = json_object_get(json, "value");

	if (!result || read_files(json, result) < 0 || read_changes(json, result) < 0 ||
	    read_events(json, result) < 0) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): knows no cleanup attributes */
		return NULL;
	}
	COPY(result->id, json, "id");
	result->status = read_status(json);
	result->exit_code = json_is_integer(code) ? (int)json_integer_value(code) : -1;
	result->signal = (int)number(json, "signal");
	result->stdout_data = strdup(client_text(json, "stdout"));
	result->stderr_data = strdup(client_text(json, "stderr"));
	if (!result->stdout_data || !result->stderr_data) {
		return NULL;
	}
	if (value && !json_is_null(value)) {
		result->value_json = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
	}
	if (client_text(json, "value_repr")[0]) {
		result->value_repr = strdup(client_text(json, "value_repr"));
	}
	read_verdict(json, result);
	read_usage(json, &result->usage);
	return TAKE_PTR(result);
}
