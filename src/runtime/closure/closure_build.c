/* SPDX-License-Identifier: Apache-2.0 */
/* The closure of a runtime, and of any program. */
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "runtime/closure/closure_program.h"
#include "runtime/closure/closure_rules.h"
#include "runtime/placeholder.h"

#define GLOB_MATCHES_MAX 512

/* Names that every Linux program may start a path with; on merged-usr hosts they are links. */
static const char *const root_links[] = { "/bin", "/sbin", "/lib", "/lib64", "/lib32" };

struct closure_builder {
	struct closure_set set;
	const char *words[PLACEHOLDER_COUNT];
	struct brig_error *err;
};

static void builder_done(struct closure_builder *builder)
{
	closure_set_done(&builder->set);
}

/* Adds one path as it is; a missing path is skipped. */
static int add_path(struct closure_builder *builder, const char *path)
{
	int r = closure_set_add(&builder->set, path, NULL, builder->err);

	if (r == -EPERM || r >= 0) {
		return r;
	}
	return r == -ENOENT ? 0
			    : error_errno(builder->err, BRIG_E_RUNTIME, -r, "closure: %s", path);
}

static int add_glob(struct closure_builder *builder, const char *pattern)
{
	_cleanup_(globfree)
	glob_t found = { 0 };
	int r = glob(pattern, GLOB_NOSORT | GLOB_NOESCAPE, NULL, &found);

	if (r == GLOB_NOMATCH) {
		return 0;
	}
	if (r != 0) {
		return error_set(builder->err, BRIG_E_SYSTEM, ENOMEM, "closure: cannot look for %s",
				 pattern);
	}
	if (found.gl_pathc > GLOB_MATCHES_MAX) {
		r = error_set(builder->err, BRIG_E_RUNTIME, E2BIG,
			      "closure: %s matches more than %d paths", pattern, GLOB_MATCHES_MAX);
		error_remedy(builder->err, "list a directory instead");
		return r;
	}
	for (size_t i = 0; i < found.gl_pathc; i++) {
		r = add_path(builder, found.gl_pathv[i]);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

/*
 * 1: a directory and not a link; 0: not; -errno: out of resources, which must not shrink the
 * closure.
 */
static int is_real_dir(struct closure_builder *builder, const char *path)
{
	struct stat st;

	if (lstat(path, &st) == 0) {
		return S_ISDIR(st.st_mode);
	}
	return errno == ENOENT || errno == ENOTDIR
		       ? 0
		       : error_errno(builder->err, BRIG_E_SYSTEM, errno, "closure: %s", path);
}

/*
 * The directory of shared libraries: Debian's multiarch, else Fedora's lib64, else all of lib.
 * A whole directory, because interpreters load more by name than they are linked against, and
 * because one mount is cheaper than many.
 */
static int add_library_dir(struct closure_builder *builder)
{
	char multiarch[PATH_MAX];
	int r;

	(void)snprintf(multiarch, sizeof(multiarch), "/usr/lib/%s", closure_multiarch);
	r = is_real_dir(builder, multiarch);
	if (r < 0) {
		return r;
	}
	if (r) {
		r = add_path(builder, multiarch);
		(void)snprintf(multiarch, sizeof(multiarch), "/lib/%s", closure_multiarch);
		return r < 0 ? r : add_path(builder, multiarch);
	}
	r = is_real_dir(builder, "/usr/lib64");
	if (r) {
		return r < 0 ? r : add_path(builder, "/usr/lib64");
	}
	r = add_path(builder, "/usr/lib");
	return r < 0 ? r : add_path(builder, "/lib");
}

static int add_group(struct closure_builder *builder, const char *name)
{
	const char *const *entries = closure_group(name);
	int r = strcmp(name, "@libs") == 0 ? add_library_dir(builder) : 0;

	if (r < 0) {
		return r;
	}
	for (; entries && *entries; entries++) {
		r = add_path(builder, *entries);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

static int add_entry(struct closure_builder *builder, const char *entry)
{
	_cleanup_(buf_done)
	struct buf path = { 0 };
	enum placeholder missing = PLACEHOLDER_COUNT;
	const char *why;
	int r;

	if (entry[0] == '@') {
		return add_group(builder, entry);
	}
	r = placeholder_expand(entry, builder->words, &path, &missing);
	if (r == -ENOENT) {
		return error_set(builder->err, BRIG_E_RUNTIME, EINVAL,
				 "closure: %s: no value for {%s}", entry,
				 placeholder_name(missing));
	}
	if (r < 0) {
		return error_errno(builder->err, BRIG_E_SYSTEM, -r, "closure: %s", entry);
	}
	why = closure_refuses(path.data);
	if (why) {
		return error_set(builder->err, BRIG_E_RUNTIME, EPERM, "closure: %s %s", path.data,
				 why);
	}
	return strpbrk(path.data, "*?") ? add_glob(builder, path.data)
					: add_path(builder, path.data);
}

static int add_entries(struct closure_builder *builder, const struct strlist *entries)
{
	for (size_t i = 0; i < entries->count; i++) {
		int r = add_entry(builder, entries->items[i]);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

/* "/bin -> usr/bin" without its target; nothing where /bin is a directory of its own. */
static int add_root_links(struct closure_builder *builder)
{
	for (size_t i = 0; i < ARRAY_SIZE(root_links); i++) {
		int r = closure_set_add_link(&builder->set, root_links[i]);

		if (r < 0) {
			return error_errno(builder->err, BRIG_E_SYSTEM, -r, "closure: %s",
					   root_links[i]);
		}
	}
	return 0;
}

static bool uses_program(const struct strlist *argv)
{
	for (size_t i = 0; i < argv->count; i++) {
		if (placeholder_used(argv->items[i], PLACEHOLDER_PROGRAM) ||
		    placeholder_used(argv->items[i], PLACEHOLDER_PREFIX)) {
			return true;
		}
	}
	return false;
}

static int build(struct closure_builder *builder, const struct runtime *runtime, bool with_compiler)
{
	enum program_kind kind;
	int r = add_root_links(builder);

	if (r < 0) {
		return r;
	}
	r = add_entries(builder, &runtime->closure);
	if (r < 0) {
		return r;
	}
	if (with_compiler) {
		r = add_entries(builder, &runtime->compile_closure);
	}
	if (r < 0) {
		return r;
	}
	bool program = runtime->program && (uses_program(&runtime->run) ||
					    (with_compiler && uses_program(&runtime->compile)));
	return program ? closure_add_program(&builder->set, runtime->program, &kind, builder->err)
		       : 0;
}

int runtime_closure(const struct runtime *runtime, bool with_compiler, struct closure *ret,
		    struct brig_error *err)
{
	const char *slash = runtime->real_program ? strrchr(runtime->real_program, '/') : NULL;
	_cleanup_(builder_done)
	struct closure_builder builder = {
		.err = err,
		.words = { [PLACEHOLDER_PROGRAM] = runtime->program,
			   [PLACEHOLDER_PREFIX] = runtime->prefix,
			   [PLACEHOLDER_REALNAME] = slash ? slash + 1 : NULL,
			   [PLACEHOLDER_MULTIARCH] = closure_multiarch },
	};
	int r;

	if (!runtime->generic && !runtime->program) {
		return error_set(err, BRIG_E_RUNTIME, EINVAL,
				 "runtime %s: its program was not searched for", runtime->name);
	}
	r = build(&builder, runtime, with_compiler);
	if (r < 0) {
		error_wrap(err, "runtime %s: ", runtime->name);
		return r;
	}
	closure_set_finish(&builder.set, ret);
	return 0;
}

/* A script may start any program: it gets the closure of the runtime "command", and itself. */
static int add_command_runtime(struct closure_builder *builder, struct brig_error *err)
{
	_cleanup_(runtime_freep)
	struct runtime *command = NULL;
	struct runtime_source built_in = { 0 };
	int r = runtime_load(&built_in, "command", &command, err);

	return r < 0 ? r : add_entries(builder, &command->closure);
}

static int close_program(struct closure_builder *builder, const char *program, bool library,
			 struct closure *ret, struct brig_error *err)
{
	enum program_kind kind;

	if (program[0] != '/') {
		return error_set(err, BRIG_E_INPUT, EINVAL, "%s: not an absolute path", program);
	}
	int r = closure_add_program(&builder->set, program, &kind, err);
	if (r < 0) {
		return r;
	}
	if (library) {
		r = add_path(builder, closure_loader);
	}
	if (r == 0 && kind == PROGRAM_SCRIPT) {
		r = add_command_runtime(builder, err);
	}
	if (r == 0 && kind != PROGRAM_STATIC) {
		r = add_root_links(builder);
	}
	if (r < 0) {
		return r;
	}
	closure_set_finish(&builder->set, ret);
	return 0;
}

int program_closure(const char *program, struct closure *ret, struct brig_error *err)
{
	_cleanup_(builder_done)
	struct closure_builder builder = {
		.err = err,
		.words = { [PLACEHOLDER_MULTIARCH] = closure_multiarch },
	};

	return close_program(&builder, program, false, ret, err);
}

int library_closure(const char *library, struct closure *ret, struct brig_error *err)
{
	_cleanup_(builder_done)
	struct closure_builder builder = { .err = err };

	return close_program(&builder, library, true, ret, err);
}
