/* SPDX-License-Identifier: Apache-2.0 */
/* A request in the service's format: see run_service.h. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/json/json_out.h"
#include "cli/read_input.h"
#include "cli/run/run_service.h"
#include "policy/policy.h"
#include "runtime/runtime.h"

#define INPUT_BYTES_MAX (64u << 20) /* more than a service accepts: the service reports the error */

/* Options that only make sense where the cell is on this host. */
static int check_line(const struct run_args *args, struct brig_error *err)
{
	const struct {
		const char *option, *remedy;
		bool given;
	} local[] = {
		{ "-- CMD", "give code: a file, - or -c",
		  !args->code && !args->given.operands_count },
		{ "--ro and --rw",
		  "the service cannot mount directories of this host; copy files with --in",
		  args->ro.count + args->rw.count > 0 },
		{ "--config", "the service uses its own policies", args->config != NULL },
		{ "--audit", "the service writes its own audit chain", args->audit != NULL },
		{ "--tenant", "the token determines the tenant", args->tenant != NULL },
		{ "--no-cache", "the service has its own build cache", args->no_cache },
	};

	for (size_t i = 0; i < ARRAY_SIZE(local); i++) {
		if (local[i].given) {
			int r = error_set(err, BRIG_E_INPUT, EINVAL,
					  "--service cannot be combined with %s", local[i].option);
			error_remedy(err, "%s", local[i].remedy);
			return r;
		}
	}
	return 0;
}

static int add_code(const struct brig_request *request, struct json_out *out,
		    struct brig_error *err)
{
	struct runtime *runtime = NULL;
	_cleanup_(buf_done)
	struct buf file = { 0 };
	const char *code = request->code;
	size_t size = request->code_size ? request->code_size : code ? strlen(code) : 0;

	if (request->file) {
		int r = read_input(request->file, INPUT_BYTES_MAX, &file, err);
		if (r < 0) {
			return r;
		}
		code = file.data ? file.data : "";
		size = file.size;
	}
	json_textn(out, "code", code, size);
	if (request->language) {
		json_text(out, "language", request->language);
	} else if (request->file || (size > 2 && memcmp(code, "#!", 2) == 0)) {
		struct runtime_source built_in = { 0 };
		int r = runtime_for_file(&built_in, request->file ? request->file : "", code, size,
					 &runtime, err);
		if (r < 0) {
			return r;
		}
		json_text(out, "language", runtime->name);
		runtime_free(runtime);
	}
	return 0;
}

static int add_files(const struct brig_request *request, struct json_out *out,
		     struct brig_error *err)
{
	json_open(out, "files", '[');
	for (size_t i = 0; i < request->files_count; i++) {
		const struct brig_file_in *file = &request->files[i];
		_cleanup_(buf_done)
		struct buf data = { 0 };
		int r = read_input(file->path, INPUT_BYTES_MAX, &data, err);

		if (r < 0) {
			return r;
		}
		json_open(out, NULL, '{');
		json_text(out, "path", file->name);
		json_base64(out, "content_base64", data.data ? data.data : "", data.size);
		json_bool(out, "executable", access(file->path, X_OK) == 0);
		json_close(out, '}');
	}
	json_close(out, ']');
	return 0;
}

/* All of it: a service takes the input with the request. A terminal counts as empty input. */
static int add_stdin(const struct run_args *args, struct json_out *out, struct brig_error *err)
{
	_cleanup_(buf_done)
	struct buf input = { 0 };

	if (!run_args_feeds(args) || isatty(STDIN_FILENO) == 1) {
		return 0;
	}
	int r = read_input("-", INPUT_BYTES_MAX, &input, err);
	if (r == 0 && input.size > 0) {
		json_base64(out, "stdin_base64", input.data, input.size);
	}
	return r;
}

static void add_texts(struct json_out *out, const char *key, const char *const *texts)
{
	if (!texts || !texts[0]) {
		return;
	}
	json_open(out, key, '[');
	for (; *texts; texts++) {
		json_text(out, NULL, *texts);
	}
	json_close(out, ']');
}

static void add_env(const struct brig_request *request, struct json_out *out)
{
	json_open(out, "env", '{');
	for (const char *const *at = request->env; at && *at; at++) {
		char name[256];
		size_t size = strcspn(*at, "=");

		if (size < sizeof(name)) {
			memcpy(name, *at, size);
			name[size] = '\0';
			json_text(out, name, *at + size + ((*at)[size] == '='));
		}
	}
	json_close(out, '}');
}

static void add_limits(const struct brig_limits *limits, struct json_out *out)
{
	struct brig_limits copy = *limits;

	json_open(out, "limits", '{');
	for (size_t i = 0; i < LIMITS_COUNT; i++) {
		const struct limit_info *info = &limit_table[i];
		uint64_t value = *limit_of(&copy, info);

		if (value && info->unit == UNIT_TIME) {
			json_ms(out, info->name, value);
		} else if (value) {
			json_u64(out, info->name, value);
		}
	}
	json_close(out, '}');
}

int run_service_body(const struct run_args *args, const struct run_request *given, struct buf *ret,
		     struct brig_error *err)
{
	static const char *const starts[] = { "auto", "cold", "warm" };
	const struct brig_request *request = &given->request;
	struct json_out out = { .buf = ret };
	int r = check_line(args, err);

	if (r < 0) {
		return r;
	}
	json_open(&out, NULL, '{');
	r = add_code(request, &out, err);
	r = r < 0 ? r : add_files(request, &out, err);
	r = r < 0 ? r : add_stdin(args, &out, err);
	if (r < 0) {
		return r;
	}
	add_texts(&out, "args", request->args);
	add_texts(&out, "out", request->out);
	add_texts(&out, "network", request->network);
	add_env(request, &out);
	add_limits(&request->limits, &out);
	if (request->policy) {
		json_text(&out, "policy", request->policy);
	}
	if (request->provider) {
		json_text(&out, "provider", request->provider);
	}
	if (request->venv) {
		json_text(&out, "venv", request->venv);
	}
	if (request->guard) {
		json_text(&out, "guard", request->guard);
	}
	if (request->consent) {
		json_bool(&out, "consent", true);
	}
	if (request->clamp) {
		json_bool(&out, "clamp", true);
	}
	json_text(&out, "start", starts[request->start]);
	json_bool(&out, "check", request->check);
	json_bool(&out, "want_value", request->want_value);
	json_bool(&out, "changes", request->changes);
	json_bool(&out, "stream", true);
	json_close(&out, '}');
	return ret->failed ? error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for the request") : 0;
}
