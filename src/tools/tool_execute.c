/* execute_code: from its arguments to a run of the engine. Its answer: execution_answer.c. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "tools/tools_internal.h"

#define FILES_MAX 1000u
#define WORDS_MAX 1000u

struct files {
	struct brig_file_in *list;
	size_t count;
};

static void files_done(struct files *files)
{
	for (size_t i = 0; i < files->count; i++) {
		free((void *)(uintptr_t)files->list[i].data);
	}
	free(files->list);
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
			.data = data,
			.size = size,
		};
		files->count++;
	}
	return 0;
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

static uint64_t timeout_ns(const json_t *arguments)
{
	double seconds = json_number_value(json_object_get(arguments, "timeout"));

	/* Above any ceiling it is refused there, with the ceiling's name. */
	return seconds > 1e6 ? (uint64_t)1e15 : (uint64_t)(seconds * 1e9);
}

void tool_execute_code(void *user, struct mcp_call *mcp, const json_t *arguments)
{
	struct tools *tools = user;
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
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): knows no cleanup attributes */
		tools_fail(mcp, &error);
		return;
	}
	const char *session = text_of(arguments, "session_id");
	const char *language = text_of(arguments, "language");
	struct engine_call call = {
		.op = ENGINE_EXECUTE,
		.session = session,
		.run = {
			.size = sizeof(struct brig_request),
			.language = language || session ? language : "python",
			.code = json_string_value(code),
			.code_size = json_string_length(code),
			.args = args[0] ? args : NULL,
			.out = out[0] ? out : NULL,
			.network = json_object_get(arguments, "network") ? network : NULL,
			.files = files.list,
			.files_count = files.count,
			.policy = session ? NULL : tools->options.policy,
			.guard = text_of(arguments, "guard"),
			.limits.wall_ns = timeout_ns(arguments),
			.stdin_data = json_string_value(stdin_text),
			.stdin_size = json_string_length(stdin_text),
			.want_value = true,
			.consent = tools->options.consent,
		},
	};
	tools_start(tools, mcp, &call, &(struct tools_call){ .answer = tools_answer_execution });
}
