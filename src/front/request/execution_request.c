/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of a run. */
#include "front/request/execution_request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/blank.h"
#include "base/cleanup.h"
#include "base/id.h"
#include "base/path.h"
#include "front/request/execution_request_parts.h"
#include "front/request/upload.h"
#include "http/limits.h"

#define MS_MAX UINT64_C(1000000000000)

static int take_start(void *into, const struct field *field, json_t *value, const char *where,
		      struct problem *problem)
{
	static const char *const words[] = { "auto", "cold", "warm" };
	struct ask_fields *fields = into;

	(void)field;
	if (!json_is_string(value)) {
		return field_wrong(problem, where, "a string", value);
	}
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(json_string_value(value), words[i]) == 0) {
			fields->start = (enum brig_start)i;
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

#define AT(name) offsetof(struct ask_fields, name)

/* What a session has comes first, then what only a run has, then what only a session has. */
static const struct field table[] = {
	{ "language", field_name, AT(language), 0, 64 },
	{ "policy", field_name, AT(policy), 0, 64 },
	{ "guard", field_name, AT(guard), 0, 16 },
	{ "limits", ask_take_limits, 0, 0, 0 },
	{ "clamp", field_flag, AT(clamp), 0, 0 },
	{ "consent", field_flag, AT(consent), 0, 0 },
	{ "mounts", field_array, AT(mounts), 0, ENGINE_MOUNTS_MAX },
	{ "timeout_ms", ask_take_ms, AT(timeout_ns), 1, 0 },
	{ "env", field_object, AT(env), 0, ASK_ENV_MAX },
	{ "files", field_array, AT(files), 0, ASK_FILES_MAX },
	{ "network", field_array, AT(network), 0, ASK_HOSTS_MAX },
	{ "code", take_value, AT(code), 0, 0 },
	{ "args", field_array, AT(args), 0, ASK_WORDS_MAX },
	{ "stdin", take_value, AT(input), 0, 0 },
	{ "stdin_base64", take_value, AT(input_base64), 0, 0 },
	{ "out", field_array, AT(out), 0, PATH_GLOBS_MAX },
	{ "want_value", field_flag, AT(want_value), 0, 0 },
	{ "changes", field_flag, AT(changes), 0, 0 },
	{ "check", field_flag, AT(check), 0, 0 },
	{ "start", take_start, 0, 0, 0 },
	{ "session", field_text, AT(session), 0, 64 },
	{ "stream", field_flag, AT(stream), 0, 0 },
	{ "idle_timeout_ms", field_ms, AT(idle_ns), 1, MS_MAX },
	{ "lifetime_ms", field_ms, AT(life_ns), 1, MS_MAX },
};
enum {
	TABLE_SHARED = 11,
	TABLE_RUN = 22,
};

static int read_fields(enum ask_kind kind, json_t *root, const char *where, struct ask_fields *ret,
		       struct problem *problem)
{
	struct field session[TABLE_SHARED + 2];

	if (kind != ASK_SESSION) {
		return fields_read(root, where, table, TABLE_RUN, ret, problem);
	}
	memcpy(session, table, TABLE_SHARED * sizeof(table[0]));
	memcpy(session + TABLE_SHARED, table + TABLE_RUN, 2 * sizeof(table[0]));
	return fields_read(root, where, session, ARRAY_SIZE(session), ret, problem);
}

static int put_code(struct ask *ask, json_t *code, const char *where, struct problem *problem)
{
	struct brig_request *run = &ask->call.run;
	char full[160];

	snprintf(full, sizeof(full), "%.120s%scode", where, *where ? "." : "");
	ask->code_sha256 = json_longs_sha256(ask->longs, code);
	return code ? field_long(ask->longs, code, full, LIMIT_CODE, &run->code, &run->code_size,
				 problem)
		    : 0;
}

static int check_code(const struct ask *ask, const struct ask_fields *fields,
		      struct problem *problem)
{
	if (!fields->code || text_is_blank(ask->call.run.code, ask->call.run.code_size)) {
		problem_set(problem, PROBLEM_INVALID_REQUEST,
			    fields->code ? "code: is empty" : "code: is missing");
		problem_remedy(problem, "send the program's source text as \"code\"");
		return -EINVAL;
	}
	return 0;
}

static int check_fields(const struct ask_fields *fields, struct problem *problem)
{
	if (fields->timeout_ns && fields->limits.wall_ns) {
		return problem_set(problem, PROBLEM_INVALID_REQUEST,
				   "timeout_ms: given twice, also as limits.wall_ms");
	}
	if (fields->input && fields->input_base64) {
		return problem_set(problem, PROBLEM_INVALID_REQUEST,
				   "stdin: given twice, also as stdin_base64");
	}
	if (fields->session && !ask_session_id(fields->session)) {
		return problem_set(problem, PROBLEM_INVALID_REQUEST, "session: not a session's id");
	}
	return 0;
}

bool ask_session_id(const char *id)
{
	size_t length = strspn(id, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				   "0123456789_-");

	return length > 0 && length <= 64 && id[length] == '\0';
}

static void put_fields(struct ask *ask, const struct ask_fields *fields)
{
	struct engine_call *call = &ask->call;

	call->op = ENGINE_EXECUTE;
	call->session = fields->session;
	call->idle_ns = fields->idle_ns;
	call->life_ns = fields->life_ns;
	call->run = (struct brig_request){
		.size = sizeof(call->run),
		/* In a session the session's own language holds. */
		.language = fields->language  ? fields->language
			    : fields->session ? NULL
					      : "python",
		.policy = fields->policy,
		.guard = fields->guard,
		.check = fields->check,
		.limits = fields->limits,
		.clamp = fields->clamp,
		.consent = fields->consent,
		.want_value = fields->want_value,
		.changes = fields->changes,
		.start = fields->start,
	};
	if (fields->timeout_ns) {
		call->run.limits.wall_ns = fields->timeout_ns;
	}
	ask->stream = fields->stream;
	ask->language_given = fields->language != NULL;
}

int ask_read(enum ask_kind kind, json_t *root, struct json_longs *longs, const char *where,
	     struct ask **ret, struct problem *problem)
{
	struct ask_fields fields = { .want_value = true };
	struct ask *ask = calloc(1, sizeof(*ask));

	if (!ask) {
		return problem_set(problem, PROBLEM_MEMORY_LOW, "no memory for the request");
	}
	ask->root = json_incref(root);
	ask->longs = json_longs_ref(longs);
	int r = read_fields(kind, root, where, &fields, problem);
	if (r == 0) {
		put_fields(ask, &fields);
		ask->call.block = json_longs_block(longs);
		r = put_code(ask, fields.code, where, problem);
	}
	if (r == 0 && kind == ASK_RUN) {
		r = check_code(ask, &fields, problem);
	}
	if (r == 0) {
		r = check_fields(&fields, problem);
	}
	if (r == 0) {
		r = ask_put_parts(ask, &fields, where, problem);
	}
	if (r < 0) {
		ask_free(ask);
		return r;
	}
	*ret = ask;
	return 0;
}

static int ask_of_document(enum ask_kind kind, struct document *document, struct ask **ret,
			   struct problem *problem)
{
	int r = ask_read(kind, document->root, document->longs, "", ret, problem);

	document_done(document);
	return r;
}

int ask_of_body(enum ask_kind kind, struct http_exchange *exchange, struct ask **ret,
		struct problem *problem)
{
	struct document document = { 0 };
	int r = body_read(exchange, &document, problem);

	return r < 0 ? r : ask_of_document(kind, &document, ret, problem);
}

int ask_parse(enum ask_kind kind, const char *text, size_t size, struct ask **ret,
	      struct problem *problem)
{
	struct document document = { 0 };
	int r = text_read(text, size, &document, problem);

	return r < 0 ? r : ask_of_document(kind, &document, ret, problem);
}

int ask_overlay(struct ask *ask, json_t *input, const char *where, struct problem *problem)
{
	static const struct field inputs[] = {
		{ "env", field_object, AT(env), 0, ASK_ENV_MAX },
		{ "files", field_array, AT(files), 0, ASK_FILES_MAX },
		{ "args", field_array, AT(args), 0, ASK_WORDS_MAX },
		{ "stdin", take_value, AT(input), 0, 0 },
		{ "stdin_base64", take_value, AT(input_base64), 0, 0 },
	};
	struct ask_fields fields = { 0 };
	int r = fields_read(input, where, inputs, ARRAY_SIZE(inputs), &fields, problem);

	if (r == 0) {
		r = check_fields(&fields, problem);
	}
	return r < 0 ? r : ask_put_parts(ask, &fields, where, problem);
}

int ask_check_input(json_t *input, struct json_longs *longs, const char *where,
		    struct problem *problem)
{
	struct ask *ask = calloc(1, sizeof(*ask));

	if (ask) {
		ask->longs = json_longs_ref(longs);
	}
	int r = ask ? ask_overlay(ask, input, where, problem)
		    : problem_set(problem, PROBLEM_MEMORY_LOW, "no memory for the request");

	ask_free(ask);
	return r;
}

size_t ask_weight(const struct ask *ask)
{
	const struct brig_request *run = &ask->call.run;
	size_t weight = run->code_size + run->stdin_size;

	for (size_t i = 0; i < run->files_count; i++) {
		weight += run->files[i].size + 1024;
	}
	return weight;
}

int ask_copy(const struct engine_call *call, struct ask **ret)
{
	struct ask *ask = calloc(1, sizeof(*ask));
	size_t size = 0;

	if (!ask) {
		return -ENOMEM;
	}
	int r = engine_pack(call, &ask->block, &size);
	if (r == 0) {
		r = engine_unpack(ask->block, size, call->block, &ask->unpacked);
	}
	if (r < 0) {
		ask_free(ask);
		return r;
	}
	ask->call = ask->unpacked.call;
	ask->shared = call->block ? block_ref(call->block) : NULL;
	*ret = ask;
	return 0;
}

int ask_in_session(struct ask *ask, const char *id)
{
	ask->session = strdup(id);
	if (!ask->session) {
		return -ENOMEM;
	}
	ask->call.session = ask->session;
	if (!ask->language_given) {
		ask->call.run.language = NULL;
	}
	return 0;
}

void ask_forget_proof(struct ask *ask)
{
	if (ask->proof) {
		explicit_bzero(ask->proof, strlen(ask->proof));
		free(ask->proof);
	}
	ask->proof = NULL;
}

void ask_free(struct ask *ask)
{
	if (!ask) {
		return;
	}
	ask_free_parts(ask);
	free(ask->session);
	ask_forget_proof(ask);
	engine_unpacked_done(&ask->unpacked);
	free(ask->block);
	block_unref(ask->shared);
	json_longs_unref(ask->longs);
	json_decref(ask->root);
	free(ask);
}
