/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the installed version of a language: the program itself prints it, once. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "runtime/program_output.h"
#include "runtime/runtime.h"

#define TIMEOUT_MS 5000

/* The word that starts with a digit, after the pattern (or anywhere, without one). */
static void find_version(const char *text, const char *pattern, char version[VERSION_BYTES])
{
	static const char bytes[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.+_~-";
	const char *at = pattern ? strstr(text, pattern) : text;
	size_t size;

	version[0] = '\0';
	at = at ? at + (pattern ? strlen(pattern) : 0) : NULL;
	at = at ? strpbrk(at, "0123456789") : NULL;
	if (!at) {
		return;
	}
	size = strspn(at, bytes);
	if (size > VERSION_BYTES - 1) {
		size = VERSION_BYTES - 1;
	}
	memcpy(version, at, size);
	version[size] = '\0';
}

static int read_output(const struct runtime *runtime, struct buf *output)
{
	_cleanup_(strlist_done)
	struct strlist argv = { 0 };
	int r = strlist_add(&argv, runtime->program);

	for (size_t i = 0; r == 0 && i < runtime->version_argv.count; i++) {
		r = strlist_add(&argv, runtime->version_argv.items[i]);
	}
	return r < 0 ? r : program_output_read(runtime->program, argv.items, TIMEOUT_MS, output);
}

static int ask_version(const struct runtime *runtime, char version[VERSION_BYTES],
		       struct brig_error *err)
{
	_cleanup_(buf_done)
	struct buf output = { 0 };
	int r = read_output(runtime, &output);

	if (r < 0) {
		r = error_errno(err, BRIG_E_RUNTIME, -r, "cannot get the version of %s",
				runtime->program);
		error_remedy(err, "check that %s starts", runtime->program);
		return r;
	}
	find_version(output.data ? output.data : "", runtime->version_pattern, version);
	return 0;
}

int runtime_version(struct runtime *runtime, const char *cache_dir, struct version_memory *memory,
		    struct brig_error *err)
{
	char key[SHA256_HEX_SIZE], version[VERSION_BYTES];
	int r = runtime->program ? 0 : runtime_find(runtime, err);

	if (r < 0 || !runtime->program || runtime->version_argv.count == 0) {
		return r;
	}
	r = version_key(runtime->real_program, runtime->version_argv.items, key);
	if (r < 0) {
		return error_errno(err, BRIG_E_RUNTIME, -r, "%s", runtime->real_program);
	}
	if (version_memory_recall(memory, key, runtime->version) == 0) {
		return 0;
	}
	if (version_recall(cache_dir, key, runtime->version) == 0) {
		version_memory_keep(memory, key, runtime->version);
		return 0;
	}
	r = ask_version(runtime, version, err);
	if (r < 0) {
		return r;
	}
	memcpy(runtime->version, version, sizeof(version));
	version_memory_keep(memory, key, version);
	if (version_valid(version)) {
		version_remember(cache_dir, key, version);
	}
	return 0;
}
