/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a request from the words of a command line. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/blank.h"
#include "base/cleanup.h"
#include "base/files/path.h"
#include "cli/run/run_options.h"
#include "cli/run/run_project.h"

/* More than any request may contain: larger input is refused here already. */
#define CODE_BYTES_MAX (16u << 20)

static int no_memory(struct brig_error *err)
{
	return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for the request");
}

/*
 * NAME=PATH, or PATH alone. A path that starts with '.' or '/' is never taken for a name, so that
 * a file with '=' in its name can be given as ./a=b.
 */
static int split_name(const char *word, struct strlist *names, const char **name, const char **path)
{
	const char *equals = strchr(word, '=');

	*name = NULL;
	*path = word;
	if (!equals || equals == word || word[0] == '.' || word[0] == '/') {
		return 0;
	}
	if (strlist_addf(names, "%.*s", (int)(equals - word), word) < 0) {
		return -ENOMEM;
	}
	*name = names->items[names->count - 1];
	*path = equals + 1;
	return 0;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* The directory of FILE; without a file, the one that brig was started in. */
static int list_project(const struct run_args *args, struct run_request *ret,
			struct brig_error *err)
{
	const char *operand = args->given.operands_count ? args->given.operands[0] : NULL;
	bool file = operand && strcmp(operand, "-") != 0;

	return run_project_list(file ? operand : NULL, &ret->beside_names, &ret->beside_paths, err);
}

static int make_files(const struct run_args *args, struct run_request *ret, struct brig_error *err)
{
	int r = args->project ? list_project(args, ret, err) : 0;
	size_t count = args->in.count + ret->beside_names.count;

	if (r < 0 || count == 0) {
		return r;
	}
	ret->files = calloc(count, sizeof(*ret->files));
	if (!ret->files) {
		return no_memory(err);
	}
	for (size_t i = 0; i < args->in.count; i++) {
		struct brig_file_in *file = &ret->files[i];
		if (split_name(args->in.items[i], &ret->names, &file->name, &file->path) < 0) {
			return no_memory(err);
		}
		if (!file->name) {
			file->name = last_part(file->path);
		}
	}
	for (size_t i = 0; i < ret->beside_names.count; i++) {
		ret->files[args->in.count + i] =
			(struct brig_file_in){ .name = ret->beside_names.items[i],
					       .path = ret->beside_paths.items[i] };
	}
	ret->request.files = ret->files;
	ret->request.files_count = count;
	return 0;
}

static int add_mounts(const struct strlist *words, bool writable, struct run_request *ret)
{
	for (size_t i = 0; i < words->count; i++) {
		struct brig_mount *mount = &ret->mounts[ret->request.mounts_count];
		if (split_name(words->items[i], &ret->names, &mount->name, &mount->path) < 0) {
			return -ENOMEM;
		}
		mount->writable = writable;
		ret->request.mounts_count++;
	}
	return 0;
}

static int make_mounts(const struct run_args *args, struct run_request *ret, struct brig_error *err)
{
	size_t count = args->ro.count + args->rw.count;

	if (count == 0) {
		return 0;
	}
	ret->mounts = calloc(count, sizeof(*ret->mounts));
	if (!ret->mounts || add_mounts(&args->ro, false, ret) < 0 ||
	    add_mounts(&args->rw, true, ret) < 0) {
		return no_memory(err);
	}
	ret->request.mounts = ret->mounts;
	return 0;
}

/* A word with a slash is a path. */
static int make_venv(const struct run_args *args, struct run_request *ret, struct brig_error *err)
{
	ret->request.venv = args->venv;
	if (!args->venv || !strchr(args->venv, '/')) {
		return 0;
	}
	_cleanup_free_ char *path = path_absolute(args->venv);
	if (!path || strlist_add(&ret->names, path) < 0) {
		return error_errno(err, BRIG_E_INPUT, errno, "--venv %s", args->venv);
	}
	ret->request.venv = ret->names.items[ret->names.count - 1];
	return 0;
}

static int make_env(const struct run_args *args, struct run_request *ret, struct brig_error *err)
{
	for (size_t i = 0; i < args->env.count; i++) {
		const char *word = args->env.items[i];
		const char *value = strchr(word, '=') ? "" : getenv(word);

		if (!value) {
			int r = error_set(err, BRIG_E_INPUT, EINVAL,
					  "--env %s: the variable is not set", word);
			error_remedy(err, "set it with --env %s=VALUE", word);
			return r;
		}
		bool pair = strchr(word, '=') != NULL;
		if (strlist_addf(&ret->env, "%s%s%s", word, pair ? "" : "=", value) < 0) {
			return no_memory(err);
		}
	}
	ret->request.env = (const char *const *)ret->env.items;
	return 0;
}

static int read_code(struct buf *code, struct brig_error *err)
{
	char chunk[16384];

	for (;;) {
		ssize_t n = read(STDIN_FILENO, chunk, sizeof(chunk));
		if (n == 0) {
			break;
		}
		if (n < 0 && errno == EINTR) {
			continue;
		}
		if (n < 0) {
			return error_errno(err, BRIG_E_INPUT, errno,
					   "cannot read the code from stdin");
		}
		buf_add(code, chunk, (size_t)n);
		if (code->size > CODE_BYTES_MAX) {
			return error_set(err, BRIG_E_INPUT, EFBIG,
					 "the code from stdin is larger than 16 MiB");
		}
	}
	if (text_is_blank(code->data, code->size)) {
		int r = error_set(err, BRIG_E_INPUT, EINVAL, "the code from stdin is empty");
		error_remedy(err, "pipe code in, as in: echo 'print(1)' | brig run -");
		return r;
	}
	return code->failed ? no_memory(err) : 0;
}

static int make_source(const struct run_args *args, struct run_request *ret, struct brig_error *err)
{
	struct brig_request *request = &ret->request;
	const char *operand = args->given.operands_count ? args->given.operands[0] : NULL;
	const char *const *rest = (const char *const *)args->given.rest;

	if (args->code && operand) {
		int r = error_set(err, BRIG_E_INPUT, EINVAL, "code given twice: by -c and as %s",
				  operand);
		error_remedy(err, "put arguments of the program after --");
		return r;
	}
	if (!args->code && !operand) {
		if (!rest || !rest[0]) {
			int r = error_set(err, BRIG_E_INPUT, EINVAL, "missing code or command");
			error_remedy(err, "give a file, - for stdin, -c CODE, or -- CMD ARGS");
			return r;
		}
		request->command = rest;
		return 0;
	}
	request->args = rest;
	request->code = args->code;
	if (args->code && text_is_blank(args->code, strlen(args->code))) {
		return error_set(err, BRIG_E_INPUT, EINVAL, "-c: the code is empty");
	}
	if (operand && strcmp(operand, "-") == 0) {
		int r = read_code(&ret->code, err);
		request->code = ret->code.data;
		request->code_size = ret->code.size;
		return r;
	}
	request->file = operand;
	return 0;
}

/* The variable lets a whole test suite run either way. */
static int make_start(const struct run_args *args, struct run_request *ret, struct brig_error *err)
{
	const char *word = getenv("BRIG_START");

	if (args->start_given || !word || !word[0]) {
		return 0;
	}
	return run_start_parse("the variable BRIG_START", word, &ret->request.start, err);
}

bool run_args_feeds(const struct run_args *args)
{
	return args->given.operands_count == 0 || strcmp(args->given.operands[0], "-") != 0;
}

int run_request_make(const struct run_args *args, struct run_request *ret, struct brig_error *err)
{
	static int (*const steps[])(const struct run_args *args, struct run_request *ret,
				    struct brig_error *err) = {
		make_files, make_mounts, make_venv, make_env, make_source, make_start,
	};

	*ret = (struct run_request){ .request = { .size = sizeof(ret->request),
						  .language = args->language,
						  .policy = args->policy,
						  .provider = args->provider,
						  .limits = args->limits,
						  .changes = args->changes,
						  .tenant = args->tenant,
						  .start = args->start,
						  .want_value = args->value,
						  .consent = args->yes,
						  .clamp = args->clamp,
						  .guard = args->guard,
						  .check = args->check } };
	ret->request.out = (const char *const *)args->out.items;
	/*
	 * A user with a shell on this host has its network too: the policy decides how much of it.
	 */
	ret->request.network = (const char *const *)args->net.items;
	ret->request.network_own = true;
	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		int r = steps[i](args, ret, err);
		if (r < 0) {
			run_request_done(ret);
			return r;
		}
	}
	return 0;
}

void run_request_done(struct run_request *request)
{
	free(request->files);
	free(request->mounts);
	strlist_done(&request->names);
	strlist_done(&request->beside_names);
	strlist_done(&request->beside_paths);
	strlist_done(&request->env);
	buf_done(&request->code);
	*request = (struct run_request){ 0 };
}
