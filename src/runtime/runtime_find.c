/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out whether the language is installed. Only checks files; starts nothing. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/runtime.h"

/* A regular, executable file; `real` gets its path without links. */
static bool is_program(const char *path, char real[PATH_MAX])
{
	struct stat st;

	return access(path, X_OK) == 0 && realpath(path, real) && stat(real, &st) == 0 &&
	       S_ISREG(st.st_mode);
}

/* "/usr" of "/usr/bin/x", "" of "/bin/x" and "/x": so that "{prefix}/lib" is always right. */
static char *prefix_of(const char *real)
{
	size_t size = strlen(real);

	for (int parts = 0; parts < 2 && size > 0; parts++) {
		while (size > 0 && real[--size] != '/') {
		}
	}
	return strndup(real, size);
}

static void forget(struct runtime *runtime)
{
	free(runtime->program);
	free(runtime->real_program);
	free(runtime->prefix);
	runtime->program = runtime->real_program = runtime->prefix = NULL;
}

static int take(struct runtime *runtime, const char *program, const char *real,
		struct brig_error *err)
{
	forget(runtime);
	runtime->program = strdup(program);
	runtime->real_program = strdup(real);
	runtime->prefix = prefix_of(real);
	if (!runtime->program || !runtime->real_program || !runtime->prefix) {
		forget(runtime);
		return error_errno(err, BRIG_E_SYSTEM, ENOMEM, "runtime %s", runtime->name);
	}
	return 0;
}

int runtime_find(struct runtime *runtime, struct brig_error *err)
{
	char real[PATH_MAX];
	int r;

	if (runtime->generic || runtime->engine) {
		return 0;
	}
	for (size_t i = 0; i < runtime->candidates.count; i++) {
		if (is_program(runtime->candidates.items[i], real)) {
			return take(runtime, runtime->candidates.items[i], real, err);
		}
	}
	r = error_set(err, BRIG_E_RUNTIME, ENOENT, "%s is not installed: %s not found",
		      runtime->name,
		      runtime->candidates.count ? runtime->candidates.items[0] : "program");
	if (runtime->package_hint) {
		error_remedy(err, "apt install %s", runtime->package_hint);
	}
	return r;
}
