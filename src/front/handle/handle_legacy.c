/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /api/sandbox/execute: the API of an older service, for programs that were written for it.
 * Times are in seconds and clamped, memory is in megabytes, the exit code of a timeout is -1.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes/base64.h"
#include "base/cleanup.h"
#include "base/json/json_out.h"
#include "front/execution/execution_record.h"
#include "front/request/submission.h"
#include "front/request/upload.h"

#define TIMEOUT_MIN_S  1
#define TIMEOUT_MAX_S  300
#define MEMORY_MAX_MB  (1u << 20)
#define TEXT_BYTES_MAX (2u << 20) /* of an answer's files, in base64, that are checked for text */

struct legacy {
	const char *language;
	json_t *code, *input, *files; /* the same as in the present API */
	json_t *timeout;
	uint64_t memory_mb;
};

static int take_number(void *into, const struct field *field, json_t *value, const char *where,
		       struct problem *problem)
{
	if (!json_is_number(value) || !isfinite(json_number_value(value))) {
		return field_wrong(problem, where, "a number", value);
	}
	((struct legacy *)into)->timeout = value;
	(void)field;
	return 0;
}

static int take_value(void *into, const struct field *field, json_t *value, const char *where,
		      struct problem *problem)
{
	if (!json_is_string(value)) {
		return field_wrong(problem, where, "a string", value);
	}
	*(json_t **)(void *)((char *)into + field->offset) = value;
	return 0;
}

#define AT(name) offsetof(struct legacy, name)

static const struct field fields[] = {
	{ "language", field_name, AT(language), 0, 64 },
	{ "code", take_value, AT(code), 0, 0 },
	{ "input_data", take_value, AT(input), 0, 0 },
	{ "files", field_object, AT(files), 0, EXECUTION_REQUEST_FILES_MAX },
	{ "timeout_seconds", take_number, 0, 0, 0 },
	{ "max_memory_mb", field_count, AT(memory_mb), 1, MEMORY_MAX_MB },
};

/* A file is its text; a file that is not text is {"content_base64": ...}, here and in answers. */
static json_t *translate_file(const char *name, json_t *content)
{
	if (!json_is_object(content)) {
		return json_pack("{s:s,s:O}", "path", name, "content", content);
	}
	json_t *file = json_copy(content);
	if (file) {
		json_object_set_new(file, "path", json_string(name));
	}
	return file;
}

/* The same request in the present API. */
static json_t *translate(const struct legacy *legacy)
{
	json_t *own = json_object();
	const char *name;
	json_t *content;

	json_object_set_new(own, "language",
			    json_string(legacy->language ? legacy->language : "python"));
	if (legacy->code) {
		json_object_set(own, "code", legacy->code);
	} else {
		json_object_set_new(own, "code", json_string(""));
	}
	/* The operator's limits are the maximum, whatever was requested. */
	json_object_set_new(own, "clamp", json_true());
	if (legacy->input) {
		json_object_set(own, "stdin", legacy->input);
	}
	if (legacy->files) {
		json_t *files = json_array();
		json_object_foreach(legacy->files, name, content)
		{
			json_array_append_new(files, translate_file(name, content));
		}
		json_object_set_new(own, "files", files);
	}
	if (legacy->timeout) {
		double seconds = json_number_value(legacy->timeout);
		seconds = seconds < TIMEOUT_MIN_S   ? TIMEOUT_MIN_S
			  : seconds > TIMEOUT_MAX_S ? TIMEOUT_MAX_S
						    : seconds;
		json_object_set_new(own, "timeout_ms", json_real(seconds * 1000));
	}
	if (legacy->memory_mb) {
		json_object_set_new(own, "limits",
				    json_pack("{s:I}", "memory_bytes",
					      (json_int_t)legacy->memory_mb * 1048576));
	}
	return own;
}

static const char *error_code(enum problem_kind kind)
{
	return kind == PROBLEM_UNSUPPORTED_LANGUAGE ? "UNSUPPORTED_LANGUAGE"
	       : problem_info(kind)->status < 500   ? "INVALID_REQUEST"
						    : "SANDBOX_SETUP_FAILED";
}

static void refuse(struct request *request, const struct problem *problem)
{
	const struct problem_info *info = problem_info(problem->kind);
	struct buf text = { 0 };
	struct json_out json = { .buf = &text };

	/* These concern the caller, not the run, and are answered as everywhere else. */
	if (info->status == 429 || (info->status == 503 && problem->kind != PROBLEM_HOST_UNABLE)) {
		request_answer_problem(request, problem);
		return;
	}
	const char *what = problem->detail[0] ? problem->detail : info->title;
	char message[sizeof(problem->detail) + sizeof(problem->remedy) + 2];
	/* The available languages are in the remedy. */
	bool more = problem->kind == PROBLEM_UNSUPPORTED_LANGUAGE && problem->remedy[0];
	snprintf(message, sizeof(message), "%s%s%s", what, more ? "; " : "",
		 more ? problem->remedy : "");
	request->front->counts.problems[problem->kind]++;
	json_open(&json, NULL, '{');
	json_nil(&json, "execution_id");
	json_text(&json, "status", "error_setup");
	json_text(&json, "error_code", error_code(problem->kind));
	json_text(&json, "error_message", message);
	json_close(&json, '}');
	request_answer_json(request, info->status < 500 ? 400 : 500, text.data ? text.data : "{}",
			    text.size);
	buf_done(&text);
}

struct legacy_status {
	const char *ours, *theirs, *code;
};

static const struct legacy_status statuses[] = {
	{ "ok", "completed", NULL },
	{ "failed", "error_runtime", "RUNTIME_ERROR" },
	{ "compile_failed", "error_runtime", "RUNTIME_ERROR" },
	{ "timeout", "timeout", "EXECUTION_TIMEOUT" },
	{ "cpu_limit", "timeout", "EXECUTION_TIMEOUT" },
	{ "error", "error_setup", "SANDBOX_SETUP_FAILED" },
	{ "lost", "error_setup", "SANDBOX_SETUP_FAILED" },
};

static const struct legacy_status *status_of(json_t *result)
{
	static const struct legacy_status other = { "", "error_runtime", "RUNTIME_ERROR" };
	const char *word = json_string_value(json_object_get(result, "status"));

	for (size_t i = 0; word && i < ARRAY_SIZE(statuses); i++) {
		if (strcmp(statuses[i].ours, word) == 0) {
			return &statuses[i];
		}
	}
	return &other;
}

/* A part of the result's JSON, unchanged. */
static void write_part(struct rope *out, const struct run_result *result,
		       enum outcome_part_kind kind, const char *nothing)
{
	const struct outcome_part *part = &result->outcome.parts[kind];

	if (part->size) {
		rope_block(out, result->block, result->at + part->at, part->size);
	} else {
		buf_adds(&out->text, nothing);
	}
}

#define CUT_MARK "\\n[output truncated]\""

/* The same, with a mark where output is missing; for bytes in base64 only the flag shows it. */
static void write_stream(struct rope *out, const struct run_result *from, json_t *result,
			 enum outcome_part_kind kind, const char *flag)
{
	const struct outcome_part *part = &from->outcome.parts[kind];
	const char *encoding = json_string_value(json_object_get(result, "encoding"));
	bool cut = json_is_true(json_object_get(result, flag)) && encoding &&
		   strcmp(encoding, "utf-8") == 0;

	if (!cut || part->size < 2) {
		write_part(out, from, kind, "\"\"");
		return;
	}
	rope_block(out, from->block, from->at + part->at, part->size - 1);
	buf_adds(&out->text, CUT_MARK);
}

/* Text, as far as that is cheap to check: the front has one thread. */
static bool write_text(struct json_out *json, const char *path, const char *base64, size_t size,
		       size_t *budget)
{
	if (size > *budget) {
		return false;
	}
	*budget -= size;
	_cleanup_free_ unsigned char *bytes = malloc(size / 4 * 3 + 4);
	size_t length = 0;
	if (!bytes || !base64_decode(base64, size, bytes, &length) ||
	    !utf8_valid((const char *)bytes, length)) {
		return false;
	}
	json_textn(json, path, (const char *)bytes, length);
	return true;
}

static void write_numbers(struct json_out *json, json_t *result)
{
	static const struct {
		const char *object, *name, *ours, *theirs;
		double scale;
	} numbers[] = {
		{ "resource_usage", "usage", "wall_ms", "execution_time", 1000 },
		{ "resource_usage", "usage", "cpu_ms", "cpu_time", 1000 },
		{ "resource_usage", "usage", "memory_peak_bytes", "memory_mb", 1048576 },
		{ "limits_applied", "limits", "wall_ms", "timeout_seconds", 1000 },
		{ "limits_applied", "limits", "memory_bytes", "memory_mb", 1048576 },
		{ "limits_applied", "limits", "cpu_millicores", "cpu_cores", 1000 },
		{ "limits_applied", "limits", "stdout_bytes", "max_output_chars", 1 },
	};
	const char *open = NULL;
	char text[32];

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		if (open != numbers[i].object) {
			if (open) {
				json_close(json, '}');
			}
			open = numbers[i].object;
			json_open(json, open, '{');
		}
		json_t *from = json_object_get(result, numbers[i].name);
		snprintf(text, sizeof(text), "%.12g",
			 json_number_value(json_object_get(from, numbers[i].ours)) /
				 numbers[i].scale);
		json_raw(json, numbers[i].theirs, text);
	}
	json_close(json, '}');
}

static void write_files(struct json_out *json, struct rope *out, const struct run_result *result)
{
	const char *base = result->block->data;
	struct outcome_file file;
	size_t at = 0, budget = TEXT_BYTES_MAX;

	json_open(json, "output_files", '{');
	while (outcome_file_next(&result->outcome, run_result_json(result), &at, &file)) {
		_cleanup_free_ char *path = outcome_file_path(&file);
		if (path && !write_text(json, path, file.base64, file.base64_size, &budget)) {
			json_open(json, path, '{');
			json_raw(json, "content_base64", "\"");
			rope_block(out, result->block, (size_t)(file.base64 - base),
				   file.base64_size);
			buf_addc(&out->text, '"');
			json_close(json, '}');
		}
	}
	json_close(json, '}');
}

static void write_result(struct rope *out, const struct run_result *from, json_t *result)
{
	struct json_out writer = { .buf = &out->text }, *json = &writer;
	const struct legacy_status *status = status_of(result);
	json_t *usage = json_object_get(result, "usage");
	double ms = json_number_value(json_object_get(result, "duration_ms"));
	double peak = json_number_value(json_object_get(usage, "memory_peak_bytes"));
	char number[32];

	json_open(json, NULL, '{');
	json_text(json, "execution_id", json_string_value(json_object_get(result, "id")));
	json_text(json, "status", status->theirs);
	json_raw(json, "stdout", "");
	write_stream(out, from, result, OUTCOME_STDOUT, "stdout_truncated");
	json_raw(json, "stderr", "");
	write_stream(out, from, result, OUTCOME_STDERR, "stderr_truncated");
	json_text(json, "encoding", json_string_value(json_object_get(result, "encoding")));
	json_int(json, "exit_code", from->outcome.exit_code);
	json_ms(json, "duration_ms", (uint64_t)(ms * 1e6));
	snprintf(number, sizeof(number), "%.3f", peak / 1048576);
	json_raw(json, "memory_used_mb", number);
	write_numbers(json, result);
	write_files(json, out, from);
	json_text(json, "error_code", status->code);
	json_text(json, "error_message",
		  json_string_value(json_object_get(json_object_get(result, "verdict"), "remedy")));
	json_close(json, '}');
}

static void ended(void *user, struct execution *execution)
{
	struct request *request = user;
	const struct problem *problem;
	const struct run_result *result = execution_result(execution, &problem);
	struct problem unreadable = { .kind = PROBLEM_INTERNAL };
	json_t *skeleton = NULL;
	struct rope answer = { 0 };

	if (!result || outcome_parse(&result->outcome, run_result_json(result), &skeleton) < 0) {
		refuse(request, result ? &unreadable : problem);
		return;
	}
	write_result(&answer, result, skeleton);
	int status = strcmp(status_of(skeleton)->theirs, "error_setup") == 0 ? 500 : 200;
	json_decref(skeleton);
	request_answer_rope(request, status, "application/json", &answer);
}

/* Keys are not part of this API: they are refused rather than silently ignored. */
static void no_key(struct request *request, const struct problem *problem, const char *existing_id,
		   bool same)
{
	(void)problem;
	(void)existing_id;
	(void)same;
	(void)request;
}

static int begin(struct request *request, struct execution **ret, struct problem *problem)
{
	struct legacy legacy = { 0 };
	struct submission submission = { 0 };
	_cleanup_(document_done)
	struct document body = { 0 };

	if (request_header(request, "Idempotency-Key")) {
		return problem_set(problem, PROBLEM_INVALID_REQUEST,
				   "Idempotency-Key: not supported by this API");
	}
	int r = body_read(request->exchange, &body, problem);
	if (r < 0) {
		return r;
	}
	r = fields_read(body.root, "", fields, ARRAY_SIZE(fields), &legacy, problem);
	if (r < 0) {
		return r;
	}
	json_auto_t *own = translate(&legacy);
	r = execution_request_read(EXECUTION_REQUEST_RUN, own, body.longs, "",
				   &submission.execution_request, problem);
	return r < 0 ? r : submission_begin(request, &submission, no_key, ret, problem);
}

void handle_legacy(struct request *request)
{
	struct problem problem = { 0 };
	struct execution *execution = NULL;

	if (begin(request, &execution, &problem) < 0) {
		refuse(request, &problem);
		return;
	}
	request->listener.ended = ended;
	execution_listen(execution, &request->listener);
	execution_submit(execution);
}
