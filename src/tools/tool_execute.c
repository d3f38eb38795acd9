/* SPDX-License-Identifier: Apache-2.0 */
/* execute_code: from its arguments to a run of the engine. Its answer: execution_answer.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/files/spool.h"
#include "base/id.h"
#include "tools/tools_internal.h"

#define FILES_MAX 1000u
#define WORDS_MAX 1000u

#define LONG_BYTES (256u << 10) /* longer contents are shared with the warden */

struct files {
	struct brig_file_in *list;
	size_t count;
	struct spool spool;  /* of the long contents... */
	struct block *block; /* ...a reference: all of them; or NULL */
};

static bool is_long(const struct brig_file_in *file)
{
	return file->size > LONG_BYTES;
}

static void files_done(struct files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		if (!is_long(&files->list[i])) {
			free((void *)(uintptr_t)files->list[i].data);
		}
	}
	free(files->list);
	spool_done(&files->spool);
	block_unref(files->block);
}

/* Moves contents to a memory file, one after the other, each with a NUL after it. */
static char *put_aside(struct files *files, char *data, size_t size)
{
	spool_add(&files->spool, data, size);
	spool_add(&files->spool, "", 1);
	free(data);
	return NULL;
}

/* Sets their addresses, when the file is complete. */
static int share_files(struct files *files, struct brig_error *error)
{
	size_t at = 0;
	int r = spool_end(&files->spool, &files->block);

	for (size_t i = 0; r == 0 && i < files->count; i++) {
		if (is_long(&files->list[i])) {
			files->list[i].data = files->block->data + at;
			at += files->list[i].size + 1;
		}
	}
	return r < 0 && r != -ENODATA ? error_errno(error, BRIG_E_SYSTEM, -r, "files") : 0;
}

static int read_files(const json_t *array, struct files *files, struct brig_error *error)
{
	size_t count = json_array_size(array);

	if (count > FILES_MAX) {
		return error_set(error, BRIG_E_INPUT, E2BIG, "files: %zu are too many, %u at most",
				 count, FILES_MAX);
	}
	files->list = calloc(count + 1, sizeof(*files->list));
	if (!files->list) {
		return error_errno(error, BRIG_E_SYSTEM, ENOMEM, "files");
	}
	for (size_t i = 0; i < count; i++) {
		const json_t *item = json_array_get(array, i);
		const json_t *path = json_object_get(item, "path");
		char *data = NULL;
		size_t size = 0;
		if (strlen(json_string_value(path)) != json_string_length(path)) {
			return error_set(error, BRIG_E_INPUT, EINVAL, "files[%zu].path has a NUL",
					 i);
		}
		int r = tools_content(item, &data, &size, error);
		if (r < 0) {
			error_wrap(error, "files[%zu]: ", i);
			return r;
		}
		files->list[i] = (struct brig_file_in){
			.name = json_string_value(path),
			.data = size > LONG_BYTES ? put_aside(files, data, size) : data,
			.size = size,
		};
		files->count++;
	}
	return share_files(files, error);
}

int tools_words(const json_t *array, const char *name, const char ***ret, struct brig_error *error)
{
	size_t count = json_array_size(array);

	*ret = calloc(count + 1, sizeof(char *));
	if (!*ret || count > WORDS_MAX) {
		return error_set(error, BRIG_E_INPUT, E2BIG, "%s: too many", name);
	}
	for (size_t i = 0; i < count; i++) {
		const json_t *word = json_array_get(array, i);
		if (strlen(json_string_value(word)) != json_string_length(word)) {
			return error_set(error, BRIG_E_INPUT, EINVAL, "%s[%zu] has a NUL", name, i);
		}
		(*ret)[i] = json_string_value(word);
	}
	return 0;
}

static const char *text_of(const json_t *arguments, const char *name)
{
	return json_string_value(json_object_get(arguments, name));
}

static uint64_t time_ns(const json_t *arguments, const char *name)
{
	double seconds = json_number_value(json_object_get(arguments, name));

	/* A time above any ceiling is refused there, with the ceiling's name. */
	return seconds > 1e6 ? (uint64_t)1e15 : (uint64_t)(seconds * 1e9);
}

/* Runs the code, in its session if it names one; `opened`: the session was opened for it. */
static void run(struct tools *tools, struct mcp_call *mcp, const json_t *arguments, bool opened)
{
	struct brig_error error = { 0 };
	_cleanup_(files_done)
	struct files files = { 0 };
	_cleanup_free_ const char **args = NULL;
	_cleanup_free_ const char **out = NULL;
	_cleanup_free_ const char **network = NULL;
	const json_t *code = json_object_get(arguments, "code");
	const json_t *stdin_text = json_object_get(arguments, "stdin");

	if (read_files(json_object_get(arguments, "files"), &files, &error) < 0 ||
	    tools_words(json_object_get(arguments, "args"), "args", &args, &error) < 0 ||
	    tools_words(json_object_get(arguments, "out"), "out", &out, &error) < 0 ||
	    tools_words(json_object_get(arguments, "network"), "network", &network, &error) < 0) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): does not know cleanup attributes */
		tools_fail_execution(mcp, &error);
		return;
	}
	const char *session = text_of(arguments, "session_id");
	const char *language = text_of(arguments, "language");
	struct engine_call call = {
		.op = ENGINE_EXECUTE,
		.session = session,
		.block = files.block,
		.run = {
			.size = sizeof(struct brig_request),
			.language = language || session ? language : "python",
			.code = json_string_value(code),
			.code_size = json_string_length(code),
			.args = args[0] ? args : NULL,
			.out = out[0] ? out : NULL,
			/*
			 * A session that was opened for the run has them, and a person's consent.
			 */
			.network = json_object_get(arguments, "network") && !opened ? network
										    : NULL,
			.files = files.list,
			.files_count = files.count,
			.policy = session ? NULL : tools->options.policy,
			.provider = text_of(arguments, "provider"),
			.venv = text_of(arguments, "venv"),
			.guard = text_of(arguments, "guard"),
			.limits = { .wall_ns = time_ns(arguments, "timeout"),
				    .grace_ns = time_ns(arguments, "grace") },
			.stdin_data = json_string_value(stdin_text),
			.stdin_size = json_string_length(stdin_text),
			.want_value = true,
			.consent = !opened && tools_consent(tools, mcp, arguments),
		},
	};
	tools_start(tools, mcp, &call, &(struct tools_call){ 0 });
}

void tool_execute_opened(struct tools *tools, struct mcp_call *mcp, const json_t *arguments)
{
	run(tools, mcp, arguments, true);
}

void tool_execute_code(void *user, struct mcp_call *mcp, const json_t *arguments)
{
	struct tools *tools = user;
	struct brig_error error = { 0 };
	const json_t *session = json_object_get(arguments, "session_id");
	const char *name = json_string_value(session), *caller = mcp_call_tenant(mcp);

	if (!name) {
		run(tools, mcp, arguments, false);
		return;
	}
	if (!session_name_valid(name, json_string_length(session))) {
		error_set(&error, BRIG_E_INPUT, EINVAL,
			  "session_id must be 1 to 64 letters, digits, '_' and '-'");
		tools_fail_execution(mcp, &error);
		return;
	}
	const char *id = session_names_find(tools->names, caller, name);
	if (id ? id[0] != '\0' : id_valid(name)) {
		run(tools, mcp, arguments, false);
	} else if (id) {
		error_set(&error, BRIG_E_INPUT, EBUSY, "the session %s is being opened", name);
		error_remedy(&error, "call again when the call that opens it has been answered");
		tools_fail_execution(mcp, &error);
	} else if (session_names_begin(tools->names, caller, name, &error) < 0) {
		tools_fail_execution(mcp, &error);
	} else {
		tool_open_for(tools, mcp, arguments);
	}
}
