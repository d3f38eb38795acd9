/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a request to run code or to open a session. */
#include "front/request/execution_request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/blank.h"
#include "base/cleanup.h"
#include "base/files/path.h"
#include "base/id.h"
#include "front/request/execution_request_parts.h"
#include "front/request/upload.h"
#include "http/http_limits.h"

#define MS_MAX            UINT64_C(1000000000000)
#define PROVIDER_NAME_MAX 15 /* as in a result */

static int take_start(void *into, const struct field *field, json_t *value, const char *where,
		      struct problem *problem)
{
	static const char *const words[] = { "auto", "cold", "warm" };
	struct execution_request *request = into;

	(void)field;
	if (!json_is_string(value)) {
		return field_wrong(problem, where, "a string", value);
	}
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(json_string_value(value), words[i]) == 0) {
			request->call.run.start = (enum brig_start)i;
			return 0;
		}
	}
	return problem_set(problem, PROBLEM_INVALID_REQUEST, "%s: must be auto, cold or warm",
			   where);
}

static int take_value(void *into, const struct field *field, json_t *value, const char *where,
		      struct problem *problem)
{
	(void)where;
	(void)problem;
	*(json_t **)(void *)((char *)into + field->offset) = value;
	return 0;
}

#define AT(name)   offsetof(struct execution_request, name)
#define RUN(name)  AT(call.run.name)
#define PART(name) AT(parts.name)

/* First the fields of runs and sessions, then those of runs only, then those of sessions only. */
static const struct field table[] = {
	{ "language", field_name, RUN(language), 0, 64 },
	{ "policy", field_name, RUN(policy), 0, 64 },
	{ "provider", field_name, RUN(provider), 0, PROVIDER_NAME_MAX },
	{ "venv", field_name, RUN(venv), 0, 64 },
	{ "guard", field_name, RUN(guard), 0, 16 },
	{ "limits", execution_request_take_limits, 0, 0, 0 },
	{ "clamp", field_flag, RUN(clamp), 0, 0 },
	{ "consent", field_flag, RUN(consent), 0, 0 },
	{ "mounts", field_array, PART(mounts), 0, ENGINE_MOUNTS_MAX },
	{ "timeout_ms", execution_request_take_ms, PART(timeout_ns), 1, 0 },
	{ "env", field_object, PART(env), 0, EXECUTION_REQUEST_ENV_MAX },
	{ "files", field_array, PART(files), 0, EXECUTION_REQUEST_FILES_MAX },
	{ "network", field_array, PART(network), 0, EXECUTION_REQUEST_HOSTS_MAX },
	{ "code", take_value, PART(code), 0, 0 },
	{ "args", field_array, PART(args), 0, EXECUTION_REQUEST_WORDS_MAX },
	{ "stdin", take_value, PART(input), 0, 0 },
	{ "stdin_base64", take_value, PART(input_base64), 0, 0 },
	{ "out", field_array, PART(out), 0, PATH_GLOBS_MAX },
	{ "want_value", field_flag, RUN(want_value), 0, 0 },
	{ "changes", field_flag, RUN(changes), 0, 0 },
	{ "check", field_flag, RUN(check), 0, 0 },
	{ "start", take_start, 0, 0, 0 },
	{ "session", field_text, AT(call.session), 0, 64 },
	{ "stream", field_flag, AT(stream), 0, 0 },
	{ "idle_timeout_ms", field_ms, AT(call.idle_ns), 1, MS_MAX },
	{ "lifetime_ms", field_ms, AT(call.life_ns), 1, MS_MAX },
};
enum {
	TABLE_SHARED = 13,
	TABLE_RUN = 24,
};

static int read_fields(enum execution_request_kind kind, json_t *root, const char *where,
		       struct execution_request *ret, struct problem *problem)
{
	struct field session[TABLE_SHARED + 2];

	if (kind != EXECUTION_REQUEST_SESSION) {
		return fields_read(root, where, table, TABLE_RUN, ret, problem);
	}
	memcpy(session, table, TABLE_SHARED * sizeof(table[0]));
	memcpy(session + TABLE_SHARED, table + TABLE_RUN, 2 * sizeof(table[0]));
	return fields_read(root, where, session, ARRAY_SIZE(session), ret, problem);
}

static int put_code(struct execution_request *request, const char *where, struct problem *problem)
{
	json_t *code = request->parts.code;
	struct brig_request *run = &request->call.run;
	char full[160];

	snprintf(full, sizeof(full), "%.120s%scode", where, *where ? "." : "");
	request->code_sha256 = json_longs_sha256(request->longs, code);
	return code ? field_long(request->longs, code, full, LIMIT_CODE, &run->code,
				 &run->code_size, problem)
		    : 0;
}

static int check_code(const struct execution_request *request, struct problem *problem)
{
	bool given = request->parts.code != NULL;

	if (!given || text_is_blank(request->call.run.code, request->call.run.code_size)) {
		problem_set(problem, PROBLEM_INVALID_REQUEST,
			    given ? "code: is empty" : "code: is missing");
		problem_remedy(problem, "send the program's source text as \"code\"");
		return -EINVAL;
	}
	return 0;
}

static int check_input(const struct execution_request *request, struct problem *problem)
{
	return request->parts.input && request->parts.input_base64
		       ? problem_set(problem, PROBLEM_INVALID_REQUEST,
				     "stdin: given twice, also as stdin_base64")
		       : 0;
}

static int check_fields(const struct execution_request *request, struct problem *problem)
{
	const struct engine_call *call = &request->call;

	if (request->parts.timeout_ns && call->run.limits.wall_ns) {
		return problem_set(problem, PROBLEM_INVALID_REQUEST,
				   "timeout_ms: given twice, also as limits.wall_ms");
	}
	if (check_input(request, problem) < 0) {
		return -EINVAL;
	}
	if (call->session && !session_id_is_valid(call->session)) {
		return problem_set(problem, PROBLEM_INVALID_REQUEST, "session: not a session's id");
	}
	return 0;
}

bool session_id_is_valid(const char *id)
{
	size_t length = strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				   "0123456789_-");

	return length > 0 && length <= 64 && id[length] == '\0';
}

/* The fields that are not given. */
static void complete(struct execution_request *request)
{
	struct brig_request *run = &request->call.run;

	request->language_given = run->language != NULL;
	/* In a session, the session's own language applies. */
	if (!run->language && !request->call.session) {
		run->language = "python";
	}
	if (request->parts.timeout_ns) {
		run->limits.wall_ns = request->parts.timeout_ns;
	}
	request->call.block = json_longs_block(request->longs);
}

static int read_into(struct execution_request *request, enum execution_request_kind kind,
		     const char *where, struct problem *problem)
{
	request->call.op = ENGINE_EXECUTE;
	request->call.run.size = sizeof(request->call.run);
	request->call.run.want_value = true;
	int r = read_fields(kind, request->root, where, request, problem);

	if (r < 0) {
		return r;
	}
	r = put_code(request, where, problem);
	if (r < 0) {
		return r;
	}
	if (kind == EXECUTION_REQUEST_RUN) {
		r = check_code(request, problem);
	}
	if (r < 0) {
		return r;
	}
	r = check_fields(request, problem);
	if (r < 0) {
		return r;
	}
	complete(request);
	return execution_request_put_parts(request, where, problem);
}

int execution_request_read(enum execution_request_kind kind, json_t *root, struct json_longs *longs,
			   const char *where, struct execution_request **ret,
			   struct problem *problem)
{
	struct execution_request *request = calloc(1, sizeof(*request));

	if (!request) {
		return problem_set(problem, PROBLEM_MEMORY_LOW, "no memory for the request");
	}
	request->root = json_incref(root);
	request->longs = json_longs_ref(longs);
	int r = read_into(request, kind, where, problem);
	if (r < 0) {
		execution_request_free(request);
		return r;
	}
	*ret = request;
	return 0;
}

static int from_document(enum execution_request_kind kind, struct document *document,
			 struct execution_request **ret, struct problem *problem)
{
	int r = execution_request_read(kind, document->root, document->longs, "", ret, problem);

	document_done(document);
	return r;
}

int execution_request_from_body(enum execution_request_kind kind, struct http_exchange *exchange,
				struct execution_request **ret, struct problem *problem)
{
	struct document document = { 0 };
	int r = body_read(exchange, &document, problem);

	return r < 0 ? r : from_document(kind, &document, ret, problem);
}

int execution_request_parse(enum execution_request_kind kind, const char *text, size_t size,
			    struct execution_request **ret, struct problem *problem)
{
	struct document document = { 0 };
	int r = text_read(text, size, &document, problem);

	return r < 0 ? r : from_document(kind, &document, ret, problem);
}

int execution_request_overlay(struct execution_request *request, json_t *input, const char *where,
			      struct problem *problem)
{
	static const struct field inputs[] = {
		{ "env", field_object, PART(env), 0, EXECUTION_REQUEST_ENV_MAX },
		{ "files", field_array, PART(files), 0, EXECUTION_REQUEST_FILES_MAX },
		{ "args", field_array, PART(args), 0, EXECUTION_REQUEST_WORDS_MAX },
		{ "stdin", take_value, PART(input), 0, 0 },
		{ "stdin_base64", take_value, PART(input_base64), 0, 0 },
	};

	request->parts = (struct execution_request_parts){ 0 };
	int r = fields_read(input, where, inputs, ARRAY_SIZE(inputs), request, problem);
	if (r < 0) {
		return r;
	}
	r = check_input(request, problem);
	return r < 0 ? r : execution_request_put_parts(request, where, problem);
}

int execution_request_check_input(json_t *input, struct json_longs *longs, const char *where,
				  struct problem *problem)
{
	struct execution_request *request = calloc(1, sizeof(*request));

	if (request) {
		request->longs = json_longs_ref(longs);
	}
	int r = request ? execution_request_overlay(request, input, where, problem)
			: problem_set(problem, PROBLEM_MEMORY_LOW, "no memory for the request");

	execution_request_free(request);
	return r;
}

size_t execution_request_weight(const struct execution_request *request)
{
	const struct brig_request *run = &request->call.run;
	size_t weight = run->code_size + run->stdin_size;

	for (size_t i = 0; i < run->files_count; i++) {
		weight += run->files[i].size + 1024;
	}
	return weight;
}

int execution_request_copy(const struct engine_call *call, struct execution_request **ret)
{
	_cleanup_(execution_request_freep)
	struct execution_request *request = calloc(1, sizeof(*request));
	size_t size = 0;

	if (!request) {
		return -ENOMEM;
	}
	int r = engine_pack(call, &request->block, &size);
	if (r < 0) {
		return r;
	}
	r = engine_unpack(request->block, size, call->block, &request->unpacked);
	if (r < 0) {
		return r;
	}
	request->call = request->unpacked.call;
	request->shared = call->block ? block_ref(call->block) : NULL;
	*ret = TAKE_PTR(request);
	return 0;
}

int execution_request_in_session(struct execution_request *request, const char *id)
{
	request->session = strdup(id);
	if (!request->session) {
		return -ENOMEM;
	}
	request->call.session = request->session;
	if (!request->language_given) {
		request->call.run.language = NULL;
	}
	return 0;
}

void execution_request_forget_proof(struct execution_request *request)
{
	if (request->proof) {
		explicit_bzero(request->proof, strlen(request->proof));
		free(request->proof);
	}
	request->proof = NULL;
}

void execution_request_free(struct execution_request *request)
{
	if (!request) {
		return;
	}
	execution_request_free_parts(request);
	free(request->session);
	execution_request_forget_proof(request);
	engine_unpacked_done(&request->unpacked);
	free(request->block);
	block_unref(request->shared);
	json_longs_unref(request->longs);
	json_decref(request->root);
	free(request);
}
