/* SPDX-License-Identifier: Apache-2.0 */
/* A bare command: any program, of the distribution or of the caller. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/path.h"
#include "lib/prepare/prepare.h"

/* Where a bare name is looked for: the cell's own PATH, not the caller's. */
static const char *const search_dirs[] = { "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin",
					   "/sbin" };

static char *find_program(const struct venv *venv, const char *name)
{
	char path[PATH_MAX];

	if (venv && !strchr(name, '/')) {
		int n = snprintf(path, sizeof(path), "%s/bin/%s", venv->path, name);
		if (n > 0 && (size_t)n < sizeof(path) && access(path, X_OK) == 0) {
			return strdup(path);
		}
	}

	if (strchr(name, '/')) {
		return realpath(name, NULL);
	}
	for (size_t i = 0; i < ARRAY_SIZE(search_dirs); i++) {
		int n = snprintf(path, sizeof(path), "%s/%s", search_dirs[i], name);
		if (n > 0 && (size_t)n < sizeof(path) && access(path, X_OK) == 0) {
			/* Links are not resolved: busybox and its like depend on their name. */
			return strdup(path);
		}
	}
	errno = ENOENT;
	return NULL;
}

/* Is it in a mount or an input file of the request itself: "/mnt/NAME/...", "/sandbox/..."? */
static bool is_in_request(const struct brig_request *request, const char *path)
{
	for (size_t i = 0; i < request->mounts_count && strncmp(path, "/mnt/", 5) == 0; i++) {
		const char *name = prepare_mount_name(&request->mounts[i]);
		size_t length = strlen(name);

		if (strncmp(path + 5, name, length) == 0 && path[5 + length] == '/') {
			return true;
		}
	}
	for (size_t i = 0; i < request->files_count && strncmp(path, "/sandbox/", 9) == 0; i++) {
		if (request->files[i].name && strcmp(path + 9, request->files[i].name) == 0) {
			return true;
		}
	}
	return false;
}

static bool of_distribution(const char *path)
{
	static const char *const dirs[] = { "/usr/", "/bin/", "/sbin/", "/lib/" };

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		if (strncmp(path, dirs[i], strlen(dirs[i])) == 0) {
			return true;
		}
	}
	return false;
}

static bool of_venv(const struct venv *venv, const char *path)
{
	const char *const dirs[] = { venv ? venv->path : NULL, venv ? venv->real : NULL };

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++) {
		size_t size = dirs[i] ? strlen(dirs[i]) : 0;
		if (size && strncmp(path, dirs[i], size) == 0 && path[size] == '/') {
			return true;
		}
	}
	return false;
}

/* The caller's own program is copied in: that shows no path of the host, and shares no lock. */
static int copy_in(const char *program, struct prepared *p, char *inside, size_t size,
		   struct brig_error *err)
{
	const char *name = strrchr(program, '/') + 1;
	struct stat info;

	if (!path_is_beneath(name, NULL)) {
		return error_set(err, BRIG_E_INPUT, EINVAL, "unusable program name: %s", name);
	}
	_cleanup_close_ int fd = open(program, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &info) < 0) {
		return error_errno(err, BRIG_E_INPUT, errno, "cannot read %s", program);
	}
	if (!S_ISREG(info.st_mode)) {
		return error_set(err, BRIG_E_INPUT, EINVAL, "%s is not a regular file", program);
	}
	snprintf(inside, size, "/sandbox/%s", name);
	return prepared_add_input(p, name, NULL, (uint64_t)info.st_size, TAKE_FD(fd), 0755, err);
}

void prepare_drop_item(struct closure *closure, const char *path)
{
	size_t kept = 0;

	for (size_t i = 0; i < closure->count; i++) {
		if (strcmp(closure->items[i].path, path) == 0) {
			free(closure->items[i].path);
			free(closure->items[i].target);
		} else {
			closure->items[kept++] = closure->items[i];
		}
	}
	closure->count = kept;
}

static int add_arguments(const struct brig_request *request, struct prepared *p, const char *first,
			 struct brig_error *err)
{
	int r = strlist_add(&p->argv, first);

	for (const char *const *arg = request->command + 1; r == 0 && *arg; arg++) {
		r = strlist_add(&p->argv, *arg);
	}
	return r < 0 ? error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory") : 0;
}

/* A program in a virtualenv may start its interpreter, which needs what Python needs. */
static int add_python(struct brig_context *context, const struct venv *venv, struct runtime *any,
		      struct brig_error *err)
{
	_cleanup_(runtime_freep)
	struct runtime *python = NULL;
	int r = runtime_load(&context->runtimes, "python", &python, err);

	for (size_t i = 0; r == 0 && i < python->closure.count; i++) {
		r = strlist_add(&any->closure, python->closure.items[i]) < 0
			    ? error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory")
			    : 0;
	}
	return r < 0 ? r : runtime_use_venv(any, venv, err);
}

/* A program of the distribution, or of the request, runs in a root for any program. */
static int common_closure(struct brig_context *context, struct prepared *p, struct brig_error *err)
{
	_cleanup_(runtime_freep)
	struct runtime *any = NULL;
	int r = runtime_load(&context->runtimes, "command", &any, err);

	if (r == 0 && p->venv) {
		r = add_python(context, p->venv, any, err);
	}
	return r < 0 ? r : runtime_closure(any, false, &p->closure, err);
}

/* Another program gets a root for itself, and is copied there. */
static int own_closure(const char *program, struct prepared *p, char *inside, size_t size,
		       struct brig_error *err)
{
	int r = program_closure(program, &p->closure, err);

	if (r < 0) {
		return r;
	}
	prepare_drop_item(&p->closure, program);
	return copy_in(program, p, inside, size, err);
}

int prepare_command(struct brig_context *context, const struct brig_request *request,
		    struct prepared *p, struct brig_error *err)
{
	const char *name = request->command[0];
	char inside[PATH_MAX];
	int r = 0;

	if (!name || !*name) {
		return error_set(err, BRIG_E_INPUT, EINVAL, "the command is empty");
	}
	if (!policy_runtime_allowed(p->policy, "command")) {
		r = error_set(err, BRIG_E_POLICY, EACCES, "policy %s does not allow bare commands",
			      p->policy->name);
		error_remedy(err, "add \"command\" to the policy's runtimes");
		return r;
	}
	if (p->policy->provider->runtimes) {
		r = error_set(err, BRIG_E_POLICY, ENOTSUP,
			      "provider %s runs no programs of the host",
			      p->policy->provider->name);
		error_remedy(err, "give it code in one of its languages (--lang wasm, --lang c), "
				  "or " PROVIDER_REMEDY);
		return r;
	}
	r = prepare_venv(context, request, p, err);
	if (r < 0) {
		return r;
	}
	bool inside_cell =
		provider_can(p->policy->provider, ABILITY_OWN_ROOT) && is_in_request(request, name);
	_cleanup_free_ char *program = inside_cell ? strdup(name) : find_program(p->venv, name);
	if (!program) {
		r = error_errno(err, BRIG_E_INPUT, errno, "cannot find the program %s", name);
		error_remedy(err, "name it by its path on the host, or by its path in the cell: "
				  "/mnt/NAME/... of a --ro or --rw directory");
		error_step(err, "exec");
		return r;
	}
	if (!provider_can(p->policy->provider, ABILITY_OWN_ROOT)) {
		/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): freed by a cleanup */
		return add_arguments(request, p, program, err);
	}
	if (inside_cell || of_distribution(program) || of_venv(p->venv, program)) {
		r = common_closure(context, p, err);
		snprintf(inside, sizeof(inside), "%s", program);
	} else if (p->venv) {
		r = common_closure(context, p, err);
		r = r < 0 ? r : copy_in(program, p, inside, sizeof(inside), err);
	} else {
		r = own_closure(program, p, inside, sizeof(inside), err);
	}
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it does not know cleanup attributes */
	return r < 0 ? r : add_arguments(request, p, inside, err);
}
