/* SPDX-License-Identifier: Apache-2.0 */
/* Input files: checks their names, opens or copies their contents, applies the policy's bounds. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bytes/block.h"
#include "base/cleanup.h"
#include "base/files/path.h"
#include "lib/prepare/prepare.h"

static int check_name(const struct prepared *p, const char *name, struct brig_error *err)
{
	const char *why = NULL;

	if (!name || !path_is_beneath(name, &why)) {
		int r = error_set(err, BRIG_E_INPUT, EINVAL, "input file name %s is refused: %s",
				  name ? name : "(none)", why ? why : "it is missing");
		error_remedy(err, "use a plain relative name such as data/in.csv");
		return r;
	}
	for (size_t i = 0; i < p->inputs_count; i++) {
		if (strcmp(p->inputs[i].name, name) == 0) {
			return error_set(err, BRIG_E_INPUT, EEXIST, "two input files are called %s",
					 name);
		}
	}
	return 0;
}

static int add_from_path(struct prepared *p, const struct brig_file_in *file,
			 struct brig_error *err)
{
	struct stat info;
	/* The path is the caller's own: it may contain links, but must not end in one. */
	_cleanup_close_ int fd =
		open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);

	if (fd < 0 || fstat(fd, &info) < 0) {
		int r = error_errno(err, BRIG_E_INPUT, errno, "cannot read input file %s",
				    file->path);
		if (r == -ELOOP) {
			error_remedy(err, "it is a link: name the file itself");
		}
		return r;
	}
	if (S_ISDIR(info.st_mode)) {
		int r = error_set(err, BRIG_E_INPUT, EISDIR, "input file %s is a directory",
				  file->path);
		error_remedy(err, "show it in the cell with --ro %s, or copy it in with --project",
			     file->path);
		return r;
	}
	if (!S_ISREG(info.st_mode)) {
		return error_set(err, BRIG_E_INPUT, EINVAL, "input file %s is not a regular file",
				 file->path);
	}
	return prepared_add_input(p, file->name, NULL, (uint64_t)info.st_size, TAKE_FD(fd),
				  file->executable || (info.st_mode & 0100) ? 0755 : 0644, err);
}

struct block *prepare_shared_block(const struct prepared *p, const struct brig_file_in *file)
{
	struct block *shared = p->shared ? *p->shared : NULL;
	uintptr_t at = (uintptr_t)file->data, begin = shared ? (uintptr_t)shared->data : 0;
	bool within = shared && file->data && at >= begin && at - begin <= shared->size &&
		      file->size <= shared->size - (at - begin);

	return within ? shared : NULL;
}

static int add_from_memory(struct prepared *p, const struct brig_file_in *file,
			   struct brig_error *err)
{
	struct block *shared = prepare_shared_block(p, file);

	if (shared) {
		int r = prepared_add_input(p, file->name, NULL, file->size, -1,
					   file->executable ? 0755 : 0644, err);
		if (r < 0) {
			return r;
		}
		prepared_share_input(p, file->data, shared);
		return 0;
	}
	void *copy = malloc(file->size ? file->size : 1);

	if (!copy) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for input file %s",
				 file->name);
	}
	if (file->size) {
		memcpy(copy, file->data, file->size);
	}
	return prepared_add_input(p, file->name, copy, file->size, -1,
				  file->executable ? 0755 : 0644, err);
}

int prepare_check_inputs(const struct prepared *p, size_t count, uint64_t bytes,
			 struct brig_error *err)
{
	char text[32];

	if (count > p->policy->files_in_count) {
		return error_set(err, BRIG_E_INPUT, E2BIG, "more than %llu input files",
				 (unsigned long long)p->policy->files_in_count);
	}
	if (bytes > p->policy->files_in_bytes || bytes > p->spec.limits.disk_bytes) {
		uint64_t most = p->policy->files_in_bytes < p->spec.limits.disk_bytes
					? p->policy->files_in_bytes
					: p->spec.limits.disk_bytes;
		int r = error_set(err, BRIG_E_INPUT, EFBIG, "the input files have more than %s",
				  unit_format(UNIT_BYTES, most, text, sizeof(text)));
		error_remedy(err, "send less, or raise --disk and the policy's files.in_bytes");
		return r;
	}
	return 0;
}

static int check_bounds(const struct prepared *p, struct brig_error *err)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < p->inputs_count; i++) {
		bytes += p->inputs[i].size;
	}
	return prepare_check_inputs(p, p->inputs_count, bytes, err);
}

/* The source goes into the cell of the compiler or the interpreter. */
static int add_code(struct prepared *p, struct brig_error *err)
{
	bool compiled = p->runtime && p->runtime->compile.count > 0;

	if (!p->code || (compiled && p->purpose == PURPOSE_RUN)) {
		return 0;
	}
	void *copy = malloc(p->code_size);
	if (!copy) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for the code");
	}
	memcpy(copy, p->code, p->code_size);
	return prepared_add_input(p, p->source.file, copy, p->code_size, -1, 0644, err);
}

int prepare_inputs(const struct brig_request *request, struct prepared *p, struct brig_error *err)
{
	/* If there are too many, none is opened. */
	int r = prepare_check_inputs(p, request->files_count, 0, err);

	if (r < 0) {
		return r;
	}
	r = add_code(p, err);
	if (r < 0) {
		return r;
	}
	for (size_t i = 0; i < request->files_count; i++) {
		const struct brig_file_in *file = &request->files[i];
		r = check_name(p, file->name, err);
		if (r < 0) {
			return r;
		}
		r = file->path ? add_from_path(p, file, err) : add_from_memory(p, file, err);
		if (r < 0) {
			return r;
		}
	}
	return check_bounds(p, err);
}
