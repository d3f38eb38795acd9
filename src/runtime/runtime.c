/* SPDX-License-Identifier: Apache-2.0 */
/* Allocates and frees a struct runtime. */
#include "runtime/runtime.h"

#include "base/cleanup.h"

void runtime_free(struct runtime *runtime)
{
	static const size_t lists[] = {
		offsetof(struct runtime, aliases),      offsetof(struct runtime, extensions),
		offsetof(struct runtime, shebangs),     offsetof(struct runtime, words.types),
		offsetof(struct runtime, candidates),   offsetof(struct runtime, version_argv),
		offsetof(struct runtime, compile),      offsetof(struct runtime, run),
		offsetof(struct runtime, env),          offsetof(struct runtime, compile_env),
		offsetof(struct runtime, closure),      offsetof(struct runtime, compile_closure),
		offsetof(struct runtime, preload),      offsetof(struct runtime, driver_argv),
		offsetof(struct runtime, driver_env),   offsetof(struct runtime, value_argv),
		offsetof(struct runtime, session_argv),
	};

	if (!runtime) {
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		strlist_done((struct strlist *)((char *)runtime + lists[i]));
	}
	free(runtime->version_pattern);
	free(runtime->program);
	free(runtime->real_program);
	free(runtime->prefix);
	free(runtime->package_hint);
	free(runtime);
}
