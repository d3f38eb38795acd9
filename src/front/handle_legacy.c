/* SPDX-License-Identifier: Apache-2.0 */
/*
 * POST /api/sandbox/execute: the dialect of an older service, for programs that were written for
 * it. Times are seconds and clamped, memory is in megabytes, a timeout's exit code is -1.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json_out.h"
#include "front/execution_record.h"
#include "front/order.h"

#define TIMEOUT_MIN_S 1
#define TIMEOUT_MAX_S 300
#define MEMORY_MAX_MB (1u << 20)

struct legacy {
	const char *language, *code, *input;
	json_t *files;
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

#define AT(name) offsetof(struct legacy, name)

static const struct field fields[] = {
	{ "language", field_name, AT(language), 0, 64 },
	{ "code", field_text, AT(code), 0, 16u << 20 },
	{ "input_data", field_text, AT(input), 0, 0 },
	{ "files", field_object, AT(files), 0, ASK_FILES_MAX },
	{ "timeout_seconds", take_number, 0, 0, 0 },
	{ "max_memory_mb", field_count, AT(memory_mb), 1, MEMORY_MAX_MB },
};

/* The same question in our own words. */
static json_t *translate(const struct legacy *legacy)
{
	json_t *own = json_object();
	const char *name;
	json_t *content;

	json_object_set_new(own, "language",
			    json_string(legacy->language ? legacy->language : "python"));
	json_object_set_new(own, "code", json_string(legacy->code ? legacy->code : ""));
	if (legacy->input) {
		json_object_set_new(own, "stdin", json_string(legacy->input));
	}
	if (legacy->files) {
		json_t *files = json_array();
		json_object_foreach(legacy->files, name, content)
		{
			json_array_append_new(
				files, json_pack("{s:s,s:O}", "path", name, "content", content));
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

static void refuse(struct visit *visit, const struct problem *problem)
{
	const struct problem_info *info = problem_info(problem->kind);
	struct buf text = { 0 };
	struct json_out json = { .buf = &text };

	/* Those are about the caller, not about the run, and come as they do everywhere. */
	if (info->status == 429 || info->status == 503) {
		visit_problem(visit, problem);
		return;
	}
	visit->front->counts.problems[problem->kind]++;
	json_open(&json, NULL, '{');
	json_nil(&json, "execution_id");
	json_text(&json, "status", "error_setup");
	json_text(&json, "error_code", error_code(problem->kind));
	json_text(&json, "error_message", problem->detail[0] ? problem->detail : info->title);
	json_close(&json, '}');
	visit_json(visit, info->status < 500 ? 400 : 500, text.data ? text.data : "{}", text.size);
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

static void write_files(struct json_out *json, json_t *files)
{
	json_t *file;
	size_t index;

	json_open(json, "output_files", '{');
	json_array_foreach(files, index, file)
	{
		const char *path = json_string_value(json_object_get(file, "path"));
		if (path) {
			json_text(json, path,
				  json_string_value(json_object_get(file, "content_base64")));
		}
	}
	json_close(json, '}');
}

/* With its length: a program may print a NUL. */
static void write_stream(struct json_out *json, const char *key, json_t *text)
{
	json_textn(json, key, json_is_string(text) ? json_string_value(text) : "",
		   json_string_length(text));
}

static void write_result(struct json_out *json, json_t *result)
{
	const struct legacy_status *status = status_of(result);
	json_t *exit_code = json_object_get(result, "exit_code");
	json_t *usage = json_object_get(result, "usage");
	double ms = json_number_value(json_object_get(result, "duration_ms"));
	double peak = json_number_value(json_object_get(usage, "memory_peak_bytes"));
	char number[32];

	json_open(json, NULL, '{');
	json_text(json, "execution_id", json_string_value(json_object_get(result, "id")));
	json_text(json, "status", status->theirs);
	write_stream(json, "stdout", json_object_get(result, "stdout"));
	write_stream(json, "stderr", json_object_get(result, "stderr"));
	json_text(json, "encoding", json_string_value(json_object_get(result, "encoding")));
	json_int(json, "exit_code",
		 json_is_integer(exit_code) ? json_integer_value(exit_code) : -1);
	json_ms(json, "duration_ms", (uint64_t)(ms * 1e6));
	snprintf(number, sizeof(number), "%.3f", peak / 1048576);
	json_raw(json, "memory_used_mb", number);
	write_files(json, json_object_get(result, "files"));
	json_text(json, "error_code", status->code);
	json_text(json, "error_message",
		  json_string_value(json_object_get(json_object_get(result, "verdict"), "remedy")));
	json_close(json, '}');
}

static void ended(void *user, struct execution *execution)
{
	struct visit *visit = user;
	const struct problem *problem;
	size_t size;
	const char *text = execution_result(execution, &size, &problem);
	json_t *result = text ? record_parse(text, size) : NULL;
	struct problem unreadable = { .kind = PROBLEM_INTERNAL };

	if (!result) {
		refuse(visit, text ? &unreadable : problem);
		return;
	}
	struct buf answer = { 0 };
	struct json_out json = { .buf = &answer };
	write_result(&json, result);
	json_decref(result);
	visit_json(visit, 200, answer.data ? answer.data : "{}", answer.size);
	buf_done(&answer);
}

/* Keys came with a later dialect: here they are refused, rather than quietly not heeded. */
static void no_key(struct visit *visit, const struct problem *problem, const char *twin, bool same)
{
	(void)problem;
	(void)twin;
	(void)same;
	(void)visit;
}

void handle_legacy(struct visit *visit)
{
	struct problem problem = { 0 };
	struct legacy legacy = { 0 };
	struct execution *execution = NULL;
	struct execution_order order = { 0 };
	json_t *root = NULL;
	int r = 0;

	if (visit_asks(visit, "Idempotency-Key")) {
		r = problem_set(&problem, PROBLEM_INVALID_REQUEST,
				"Idempotency-Key: not in this dialect");
	}
	if (r == 0) {
		r = fields_parse(visit->exchange->body, visit->exchange->body_size, &root,
				 &problem);
	}
	if (r == 0) {
		r = fields_read(root, "", fields, ARRAY_SIZE(fields), &legacy, &problem);
	}
	if (r == 0) {
		json_t *own = translate(&legacy);
		r = ask_read(ASK_RUN, own, "", &order.ask, &problem);
		json_decref(own);
	}
	if (r == 0) {
		r = order_place(visit, &order, no_key, &execution, &problem);
	}
	json_decref(root);
	if (r < 0) {
		refuse(visit, &problem);
		return;
	}
	visit->listener.ended = ended;
	execution_listen(execution, &visit->listener);
	execution_submit(execution);
}
