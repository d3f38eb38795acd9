/* SPDX-License-Identifier: Apache-2.0 */
/* Records of executions. */
#include "front/execution/execution_record.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/id.h"
#include "base/json/json_out.h"

#define ID_SIZE 26

static void hash_code(const struct execution_request *execution_request, char hex[SHA256_HEX_SIZE])
{
	const struct brig_request *run = &execution_request->call.run;
	struct sha256 hash;

	if (execution_request->code_sha256) {
		memcpy(hex, execution_request->code_sha256, SHA256_HEX_SIZE);
		return;
	}
	sha256_init(&hash);
	sha256_add(&hash, run->code ? run->code : "", run->code_size);
	sha256_hex(&hash, hex);
}

void record_digests(struct execution *execution, const struct submission *submission)
{
	struct sha256 hash;

	hash_code(submission->execution_request, execution->code_sha256);
	if (!submission->key) {
		return;
	}
	sha256_init(&hash);
	sha256_add_field(&hash, submission->path, strlen(submission->path));
	if (submission->text_sha256[0]) {
		/*
		 * Which of the two is used depends on the length alone, so the same body has one
		 * digest.
		 */
		sha256_add_field(&hash, submission->text_sha256, strlen(submission->text_sha256));
	} else {
		sha256_add_field(&hash, submission->body, submission->body_size);
	}
	sha256_hex(&hash, execution->digest);
}

static const char *policy_of(const struct engine_call *call)
{
	return call->run.policy ? call->run.policy : "default";
}

static const char *if_any(const char *text)
{
	return text[0] ? text : NULL;
}

static struct ledger_execution record_of(const struct execution *execution)
{
	const struct engine_call *call =
		execution->execution_request ? &execution->execution_request->call : NULL;

	return (struct ledger_execution){
		.id = execution->id,
		.tenant = execution->tenant,
		.caller = execution->caller,
		.session = call ? call->session : if_any(execution->begin_session),
		.language = call ? call->run.language : if_any(execution->begin_language),
		.policy = call ? policy_of(call) : if_any(execution->begin_policy),
		.code_sha256 = execution->code_sha256,
		.request = execution->request,
		.queued = execution->kind == EXECUTION_QUEUED || execution->key,
		.key = execution->key,
		.digest = execution->key ? execution->digest : NULL,
	};
}

int record_begin_check(const struct execution *execution)
{
	const struct ledger_execution record = record_of(execution);

	return ledger_begin_check(execution->front->ledger, &record);
}

int record_begin(struct execution *execution, ledger_done *done, void *user)
{
	const struct ledger_execution record = record_of(execution);
	int r = ledger_begin(execution->front->ledger, &record, done, user);

	block_unref(execution->request);
	execution->request = NULL;
	return r;
}

static void keep_text(char *out, size_t size, const char *text)
{
	out[0] = '\0';
	(void)strncat(out, text ? text : "", size - 1);
}

void record_begin_keep(struct execution *execution)
{
	const struct engine_call *call = &execution->execution_request->call;

	keep_text(execution->begin_session, sizeof(execution->begin_session), call->session);
	keep_text(execution->begin_language, sizeof(execution->begin_language), call->run.language);
	keep_text(execution->begin_policy, sizeof(execution->begin_policy), policy_of(call));
}

bool record_unbegun(const struct execution *execution, const struct brig_error *error)
{
	return error->code == BRIG_E_INPUT && error->errnum == ENOENT && execution->begin_policy[0];
}

int record_refused(int r, struct problem *problem)
{
	if (r == -EINVAL) {
		return problem_set(problem, PROBLEM_INVALID_REQUEST,
				   "a name in it is too long, or not a name");
	}
	problem_set(problem, PROBLEM_LEDGER_UNAVAILABLE, "it could not be recorded");
	problem->retry_s = 2;
	return r;
}

int record_existing(const char *data, size_t size, char existing_id[27], bool *ret_same)
{
	json_t *root = json_loadb(data, size, 0, NULL);
	const char *id = json_string_value(json_object_get(root, "id"));
	int r = root ? 0 : -EPROTO;

	if (id && id_valid(id)) {
		memcpy(existing_id, id, ID_SIZE + 1);
		*ret_same = json_is_true(json_object_get(root, "same"));
	}
	json_decref(root);
	return r;
}

void record_result(struct execution *execution, struct block *block)
{
	static const char begin[] = "{\"id\":\"";
	struct run_result *result = &execution->result;
	size_t at = sizeof(begin) - 1;
	const char *json;

	/* Its id is the requested one: the engine has checked everything else. */
	if (outcome_read(block->data, block->size, &result->outcome, &json) < 0 ||
	    result->outcome.json_size < at + ID_SIZE || memcmp(json, begin, at) != 0 ||
	    memcmp(json + at, execution->id, ID_SIZE) != 0) {
		problem_set(&execution->problem, PROBLEM_INTERNAL, "the result cannot be read");
		return;
	}
	result->block = block_ref(block);
	result->at = (size_t)(json - block->data);
}

void record_problem_write(const char *id, const struct problem *problem, struct buf *out)
{
	struct json_out json = { .buf = out };
	struct buf text = { 0 };

	problem_write(problem, &text);
	json_open(&json, NULL, '{');
	json_text(&json, "id", id);
	json_text(&json, "status", problem->kind == PROBLEM_CANCELLED ? "cancelled" : "error");
	json_raw(&json, "error", text.data ? text.data : "null");
	json_close(&json, '}');
	buf_done(&text);
}

void record_failure(struct execution *execution)
{
	run_result_done(&execution->result);
	buf_done(&execution->failure);
	record_problem_write(execution->id, &execution->problem, &execution->failure);
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
	const struct outcome *outcome = &execution->result.outcome;
	double seconds = (double)wall_ns / 1e9;

	if (execution->result.block && outcome->status < FRONT_STATUSES) {
		front->counts.executions[outcome->status]++;
	}
	for (size_t i = 0; i < ARRAY_SIZE(front->counts.run_seconds_bucket); i++) {
		front->counts.run_seconds_bucket[i] += seconds <= run_seconds_bounds[i];
	}
	front->counts.run_seconds_sum += seconds;
	for (unsigned i = 0; i < BRIG_EVENT_KINDS && execution->result.block; i++) {
		front->counts.events[i] += outcome->event_counts[i];
	}
}
