/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runtime files and their use. Up to the first NUL the input is a runtime file; the rest is code:
 * it is named by Java's rules and searched for a #! line. Checked: a parsed file is complete, stays
 * within its bounds and expands; an error has a position; a name is a safe file name.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/files/path.h"
#include "runtime/closure/closure_rules.h"
#include "runtime/runtime.h"
#include "runtime/runtime_rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition) {
		abort();
	}
}

static void check_closure(const struct strlist *closure)
{
	for (size_t i = 0; i < closure->count; i++) {
		require(strchr("/@{", closure->items[i][0]) != NULL);
		require(!strstr(closure->items[i], "/../"));
		require(closure->items[i][0] != '/' || !closure_refuses(closure->items[i]));
	}
}

static void check_expansion(const struct runtime *runtime, const struct strlist *argv)
{
	const char *args[] = { "a", NULL };
	struct runtime_values values = {
		.program = "/bin/x",
		.prefix = "",
		.source = "/sandbox/s",
		.output = "/sandbox/o",
		.main = "Main",
		.args = args,
		.memory_bytes = runtime->least_memory_bytes,
	};
	struct strlist got = { 0 };

	require(runtime_expand(argv, &values, &got, NULL) == 0);
	require(got.count == argv->count);
	strlist_done(&got);
}

static void check_runtime(const struct runtime *runtime)
{
	require(runtime->run.count > 0 && strlist_has(&runtime->run, "{args}"));
	require(runtime->generic || (runtime->source[0] && runtime->candidates.count));
	require((runtime->compile.count > 0) == (runtime->output[0] != '\0'));
	require(!runtime->source[0] || path_is_beneath(runtime->source, NULL));
	check_closure(&runtime->closure);
	check_closure(&runtime->compile_closure);
	check_expansion(runtime, &runtime->run);
	check_expansion(runtime, &runtime->compile);
}

static void check_name(const struct runtime *runtime, const char *code, size_t size)
{
	struct runtime_source_name name = { 0 };

	runtime_source_name(runtime, NULL, code, size, &name);
	require(path_is_beneath(name.file, NULL) && !strchr(name.file, '/'));
	require(strlen(name.main) < sizeof(name.main));
	require(runtime->words.types.count == 0 || name.main[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	size_t text_size = size ? strnlen(text, size) : 0;
	const char *code = text + text_size;
	size_t code_size = size - text_size;
	struct runtime_source source = { 0 };
	struct brig_error err = { 0 };
	struct runtime *runtime = NULL, *java = NULL;

	if (runtime_parse("f", text, text_size, &runtime, &err) == 0) {
		check_runtime(runtime);
		if (!runtime->generic) {
			check_name(runtime, code, code_size);
		}
		runtime_free(runtime);
	} else {
		static const char place[] = "runtimes/f.json:";
		char *rest;

		require(strncmp(err.message, place, sizeof(place) - 1) == 0);
		require(strtol(err.message + sizeof(place) - 1, &rest, 10) >= 1 && *rest == ':');
		require(strtol(rest + 1, &rest, 10) >= 1 && strncmp(rest, ": ", 2) == 0);
	}
	if (code_size > 1) {
		require(runtime_load(&source, "java", &java, NULL) == 0);
		check_name(java, code + 1, code_size - 1);
		runtime_free(java);
		runtime = NULL;
		if (runtime_for_file(&source, "f", code + 1, code_size - 1, &runtime, NULL) == 0) {
			runtime_free(runtime);
		}
	}
	return 0;
}
