/* SPDX-License-Identifier: Apache-2.0 */
/* The code of a request, from text or file; its runtime, and the runtime's closure. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/blank.h"
#include "base/cleanup.h"
#include "lib/prepare/prepare.h"

#define CODE_BYTES_MAX (16u << 20)

static int keep_code(struct prepared *p, const char *code, size_t size, struct brig_error *err)
{
	if (size > CODE_BYTES_MAX) {
		return error_set(err, BRIG_E_INPUT, EFBIG, "the code has more than 16 MiB");
	}
	if (text_is_blank(code, size)) {
		int r = error_set(err, BRIG_E_INPUT, EINVAL, "the code is empty");
		error_remedy(err, "send at least one statement");
		return r;
	}
	p->code = malloc(size + 1);
	if (!p->code) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for the code");
	}
	memcpy(p->code, code, size);
	p->code[size] = '\0';
	p->code_size = size;
	return 0;
}

static int read_file(const char *path, struct prepared *p, struct brig_error *err)
{
	struct stat info;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 || fstat(fd, &info) < 0) {
		return error_errno(err, BRIG_E_INPUT, errno, "cannot read %s", path);
	}
	if (!S_ISREG(info.st_mode)) {
		return error_set(err, BRIG_E_INPUT, EINVAL, "%s is not a regular file", path);
	}
	if ((uint64_t)info.st_size > CODE_BYTES_MAX) {
		return error_set(err, BRIG_E_INPUT, EFBIG, "%s has more than 16 MiB", path);
	}
	size_t size = (size_t)info.st_size;
	_cleanup_free_ char *text = malloc(size + 1);
	size_t at = 0;
	while (text && at < size) {
		ssize_t n = read(fd, text + at, size - at);
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n < 0) {
			return error_errno(err, BRIG_E_INPUT, errno, "cannot read %s", path);
		}
		if (n == 0) {
			break;
		}
		at += (size_t)n;
	}
	if (!text) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for %s", path);
	}
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): it does not know cleanup attributes */
	int r = keep_code(p, text, at, err);
	if (r < 0) {
		error_wrap(err, "%s: ", path);
	}
	return r;
}

static int find_runtime(struct brig_context *context, const struct brig_request *request,
			struct prepared *p, struct brig_error *err)
{
	struct runtime_source languages = context->runtimes;
	const struct runtime_source *source = &languages;
	bool shebang = p->code_size > 2 && memcmp(p->code, "#!", 2) == 0;

	languages.folder = p->policy->provider->runtimes;
	if (request->language) {
		return runtime_load(source, request->language, &p->runtime, err);
	}
	if (request->file || shebang) {
		return runtime_for_file(source, request->file ? request->file : "", p->code,
					p->code_size, &p->runtime, err);
	}
	/* The requirements have the default: execute_code(code, language = "python"). */
	return runtime_load(source, "python", &p->runtime, err);
}

int prepare_source(const struct brig_request *request, struct prepared *p, struct brig_error *err)
{
	if (p->purpose == PURPOSE_SESSION) {
		return 0;
	}
	if (request->file) {
		return read_file(request->file, p, err);
	}
	size_t size = request->code_size ? request->code_size : strlen(request->code);
	return keep_code(p, request->code, size, err);
}

static int check_runtime(const struct prepared *p, struct brig_error *err)
{
	if (p->runtime->generic) {
		return error_set(err, BRIG_E_RUNTIME, EINVAL,
				 "%s is not a language for code; it stands for programs",
				 p->runtime->name);
	}
	if (!policy_runtime_allowed(p->policy, p->runtime->name)) {
		int r = error_set(err, BRIG_E_POLICY, EACCES, "policy %s does not allow %s",
				  p->policy->name, p->runtime->name);
		error_remedy(err, "add it to the policy's runtimes, or use another policy");
		return r;
	}
	return 0;
}

/* The host's own interpreter or compiler, or the provider's. */
static int find_usual_program(struct prepared *p, struct brig_error *err)
{
	bool own = p->policy->provider->runtimes != NULL;
	int r = own ? prepare_wasm_program(p, err) : 0;

	r = r < 0 ? r : runtime_find(p->runtime, err);
	if (r < 0 && own && !p->runtime->package_hint) {
		error_remedy(err, "put its module beside the engine (python.wasm, ruby.wasm: "
				  "scripts/get-wasmtime.sh --python --ruby)");
	}
	return r;
}

/* The interpreter of a virtualenv, or the usual one. */
static int find_program(struct brig_context *context, const struct brig_request *request,
			struct prepared *p, struct brig_error *err)
{
	int r = prepare_venv(context, request, p, err);

	if (r < 0) {
		return r;
	}
	if (p->venv) {
		return runtime_use_venv(p->runtime, p->venv, err);
	}
	r = find_usual_program(p, err);
	/* Starts a process the first time. */
	return r < 0 ? r : runtime_version(p->runtime, context->cache_dir, &context->versions, err);
}

int prepare_code(struct brig_context *context, const struct brig_request *request,
		 struct prepared *p, struct brig_error *err)
{
	int r = prepare_source(request, p, err);

	if (r < 0) {
		return r;
	}
	r = find_runtime(context, request, p, err);
	if (r < 0) {
		if (p->policy->provider->runtimes) {
			error_wrap(err, "provider %s: ", p->policy->provider->name);
		}
		return r;
	}
	r = check_runtime(p, err);
	if (r < 0) {
		return r;
	}
	r = find_program(context, request, p, err);
	if (r < 0) {
		return r;
	}
	if (provider_can(p->policy->provider, ABILITY_OWN_ROOT) && !prepare_is_wasm(p)) {
		r = runtime_closure(p->runtime, p->purpose == PURPOSE_COMPILE, &p->closure, err);
	}
	if (r < 0) {
		return r;
	}
	runtime_source_name(p->runtime, request->file, p->code ? p->code : "", p->code_size,
			    &p->source);
	return 0;
}
