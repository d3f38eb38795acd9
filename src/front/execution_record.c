/* SPDX-License-Identifier: Apache-2.0 */
/* Records of executions. */
#include "front/execution_record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "base/json_bounded.h"
#include "base/json_out.h"

#define ID_SIZE 26

void record_digests(struct execution *execution, const char *code, size_t code_size,
		    const struct execution_order *order)
{
	struct sha256 hash;

	sha256_init(&hash);
	sha256_add(&hash, code ? code : "", code_size);
	sha256_hex(&hash, execution->code_sha256);
	if (!order->key) {
		return;
	}
	sha256_init(&hash);
	sha256_add_field(&hash, order->path, strlen(order->path));
	sha256_add_field(&hash, order->body, order->body_size);
	sha256_hex(&hash, execution->digest);
}

int record_begin(struct execution *execution, ledger_done *done, void *user)
{
	const struct engine_call *call = &execution->ask->call;
	struct ledger_execution record = {
		.id = execution->id,
		.tenant = execution->tenant,
		.caller = execution->caller,
		.session = call->session,
		.language = call->run.language,
		.policy = call->run.policy ? call->run.policy : "default",
		.code_sha256 = execution->code_sha256,
		.request = execution->request,
		.request_size = execution->request_size,
		.queued = execution->queued || execution->key,
		.key = execution->key,
		.digest = execution->key ? execution->digest : NULL,
	};
	int r = ledger_begin(execution->front->ledger, &record, done, user);

	/* Who does not wait for the answer takes it for granted; its end comes behind it. */
	if (r == 0 && user != execution) {
		execution->recorded = true;
	}
	free(execution->request);
	execution->request = NULL;
	return r;
}

int record_twin(const char *data, size_t size, char twin[27], bool *ret_same)
{
	json_t *root = json_loadb(data, size, 0, NULL);
	const char *id = json_string_value(json_object_get(root, "id"));
	int r = root ? 0 : -EPROTO;

	if (id && id_valid(id)) {
		memcpy(twin, id, ID_SIZE + 1);
		*ret_same = json_is_true(json_object_get(root, "same"));
	}
	json_decref(root);
	return r;
}

/*
 * What we wrote ourselves is behind all that the program itself can have written as JSON (its
 * value), so the last one is the real one. NULL: there is none.
 */
static const char *last_of(const char *result, size_t size, const char *text)
{
	size_t length = strlen(text);
	const char *found = NULL;

	for (const char *at = result; (at = memmem(at, size - (size_t)(at - result), text, length));
	     at++) {
		found = at;
	}
	return found;
}

static uint64_t cpu_ns_of(const char *result, size_t size)
{
	const char *found = last_of(result, size, "\"usage\":{\"wall_ms\":");
	const char *cpu = found ? strstr(found, "\"cpu_ms\":") : NULL;
	double ms = cpu ? strtod(cpu + 9, NULL) : 0;
	return ms > 0 && ms < 1e15 ? (uint64_t)(ms * 1e6) : 0;
}

static void count_events(struct front *front, const struct buf *result)
{
	const char *at = result->data ? last_of(result->data, result->size,
						"\"event_counts\":{\"call.denied\":")
				      : NULL;

	for (unsigned i = 0; i < BRIG_EVENT_KINDS && at; i++) {
		char key[40];

		snprintf(key, sizeof(key), "\"%s\":", brig_event_name(i));
		at = strstr(at, key);
		front->counts.events[i] += at ? strtoull(at + strlen(key), NULL, 10) : 0;
	}
}

/* The engine's object begins with its own id, of the same length. */
void record_result(struct execution *execution, const char *data, size_t size)
{
	static const char begin[] = "{\"id\":\"";
	size_t at = sizeof(begin) - 1;
	struct buf *result = &execution->result;

	buf_add(result, data, size);
	if (result->failed) {
		problem_set(&execution->problem, PROBLEM_MEMORY_LOW, "no memory for the result");
		execution->failed = true;
		return;
	}
	if (size < at + ID_SIZE + 1 || memcmp(data, begin, at) != 0 || data[at + ID_SIZE] != '"') {
		problem_set(&execution->problem, PROBLEM_INTERNAL, "the result cannot be read");
		execution->failed = true;
		return;
	}
	memcpy(result->data + at, execution->id, ID_SIZE);
	execution->cpu_ns = cpu_ns_of(result->data, result->size);
}

void record_failure(struct execution *execution)
{
	struct json_out json = { .buf = &execution->result };
	struct buf problem = { 0 };

	buf_done(&execution->result);
	execution->result = (struct buf){ 0 };
	problem_write(&execution->problem, &problem);
	json_open(&json, NULL, '{');
	json_text(&json, "id", execution->id);
	json_text(&json, "status",
		  execution->problem.kind == PROBLEM_CANCELLED ? "cancelled" : "error");
	json_raw(&json, "error", problem.data ? problem.data : "null");
	json_close(&json, '}');
	buf_done(&problem);
}

json_t *record_parse(const char *result, size_t size)
{
	/* Of our own making: a program's value is the deepest, and the largest, that is in it. */
	static const struct json_bounds bounds = { .depth = 80,
						   .values = 2000000,
						   .allow_nul = true };

	return json_bounded_load(result, size, &bounds, NULL);
}

bool record_problem(json_t *result, struct problem *ret)
{
	json_t *error = json_object_get(result, "error");
	const char *code = json_string_value(json_object_get(error, "code"));
	const char *detail = json_string_value(json_object_get(error, "detail"));
	const char *remedy = json_string_value(json_object_get(error, "remedy"));

	if (!code) {
		return false;
	}
	problem_set(ret, problem_of_code(code), "%s", detail ? detail : "");
	problem_remedy(ret, "%s", remedy ? remedy : "");
	return true;
}

const double run_seconds_bounds[12] = { 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
					0.1,   0.5,    1,     5,    30,    300 };

void record_count(struct front *front, const struct execution *execution, uint64_t wall_ns)
{
	const char *status =
		execution->result.data ? strstr(execution->result.data, "\"status\":\"") : NULL;
	double seconds = (double)wall_ns / 1e9;

	status = status ? status + 10 : "error\"";
	for (unsigned i = 0; i <= BRIG_ERROR && i < FRONT_STATUSES; i++) {
		const char *name = brig_status_name((enum brig_status)i);
		size_t length = strlen(name);
		if (strncmp(status, name, length) == 0 && status[length] == '"') {
			front->counts.executions[i]++;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(front->counts.run_seconds_bucket); i++) {
		front->counts.run_seconds_bucket[i] += seconds <= run_seconds_bounds[i];
	}
	front->counts.run_seconds_sum += seconds;
	count_events(front, &execution->result);
}
