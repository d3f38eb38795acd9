/* SPDX-License-Identifier: Apache-2.0 */
/* Translation of interpreters: see translate.h. */
#include "lib/prepare/translate.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/files/write_all.h"
#include "lib/prepare/phase.h"
#include "wasm/wasm.h"

#define CODE_BYTES_MAX (1ull << 30)

/* The native code on its way to a file, which gets its name when it is complete. */
struct code_file {
	int fd;     /* owned: O_TMPFILE */
	int errnum; /* of the first write that failed */
	uint64_t bytes;
	char complaint[200]; /* the beginning of standard error */
	size_t complaint_size;
};

static void on_output(void *user, int stream, const void *data, size_t size)
{
	struct code_file *file = user;

	if (stream == 1 && file->errnum == 0) {
		int r = write_all(file->fd, data, size);
		file->errnum = r < 0 ? -r : 0;
		file->bytes += size;
	}
	if (stream == 2) {
		size_t room = sizeof(file->complaint) - file->complaint_size;
		size_t n = size < room ? size : room;
		memcpy(file->complaint + file->complaint_size, data, n);
		file->complaint_size += n;
	}
}

static void free_result(struct brig_result **result)
{
	brig_result_free(*result);
}

static int run_cell(struct brig_context *context, struct prepared *p, struct code_file *file,
		    struct brig_result **ret, struct brig_error *err)
{
	const struct phase_options options = { .on_output = on_output, .user = file };
	struct phase phase = { 0 };
	int r = phase_start(&phase, context, p, &options, err);

	while (r == 0) {
		r = phase_step(&phase, err);
		if (r == 0) {
			struct pollfd ready = { .fd = phase.run->epoll, .events = POLLIN };
			poll(&ready, 1, -1);
		}
		r = r == PHASE_RESTARTED ? 0 : r;
	}
	if (r > 0) {
		*ret = phase_take_result(&phase);
	}
	phase_done(&phase);
	return r < 0 ? r : 0;
}

static int failed(const struct prepared *p, const struct brig_result *result,
		  const struct code_file *file, struct brig_error *err)
{
	int r = error_set(err, BRIG_E_RUNTIME, EIO, "%s was not translated: %s (%s) %.*s",
			  p->runtime->real_program, brig_status_name(result->status), result->cause,
			  (int)file->complaint_size, file->complaint);

	error_remedy(err, "%s",
		     result->limit_name[0] ? "raise compile.limits in the policy"
					   : "is it a WASI program of this engine?");
	return r;
}

static int open_folder(const char *path, struct brig_error *err)
{
	if (mkdir(path, 0755) < 0 && errno != EEXIST) {
		int r = error_errno(err, BRIG_E_HOST, errno, "%s", path);
		error_remedy(err, "run it as the owner of the engine's directory");
		return r;
	}
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return dir < 0 ? error_errno(err, BRIG_E_HOST, errno, "%s", path) : dir;
}

/* A file with a name is never an incomplete one. */
static int give_name(const struct code_file *file, int dir, const char *name,
		     struct brig_error *err)
{
	char self[40];

	snprintf(self, sizeof(self), "/proc/self/fd/%d", file->fd);
	if (fchmod(file->fd, 0644) < 0 || fsync(file->fd) < 0 ||
	    (linkat(AT_FDCWD, self, dir, name, AT_SYMLINK_FOLLOW) < 0 && errno != EEXIST)) {
		return error_errno(err, BRIG_E_HOST, errno, "cannot keep the native code");
	}
	return 0;
}

static int make(struct brig_context *context, struct prepared *p, const char *folder,
		const char *name, struct brig_error *err)
{
	_cleanup_(free_result)
	struct brig_result *result = NULL;
	_cleanup_close_ int dir = open_folder(folder, err);
	if (dir < 0) {
		return dir;
	}
	_cleanup_close_ int fd = openat(dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (fd < 0) {
		int r = error_errno(err, BRIG_E_HOST, errno, "cannot write to %s", folder);
		error_remedy(err, "run it as the owner of the engine's directory");
		return r;
	}
	struct code_file file = { .fd = fd };
	int r = run_cell(context, p, &file, &result, err);
	if (r < 0 || !result) {
		return r < 0 ? r : -EIO;
	}
	if (result->status != BRIG_OK || file.bytes == 0 || file.bytes >= CODE_BYTES_MAX) {
		return failed(p, result, &file, err);
	}
	if (file.errnum) {
		return error_errno(err, BRIG_E_HOST, file.errnum, "cannot write to %s", folder);
	}
	return give_name(&file, dir, name, err);
}

static int prepare_cell(struct brig_context *context, const struct translation *wanted,
			struct prepared *p, struct brig_error *err)
{
	const struct brig_request request = {
		.size = sizeof(request),
		.policy = wanted->policy,
		.language = wanted->language,
		.provider = wasm_provider.name,
		.code = "0",
		.consent = true,
	};

	int r = prepare(context, &request, PURPOSE_TRANSLATE, p, err);
	if (r < 0) {
		return r;
	}
	p->argv.items[2][0] = wanted->counted ? '1' : '0';
	p->spec.limits.stdout_bytes = CODE_BYTES_MAX;
	p->spec.limits.stderr_bytes = 64u << 10;
	if (p->runtime->program && p->runtime->compile.count == 0) {
		return 0;
	}
	r = error_set(err, BRIG_E_INPUT, EINVAL, "%s has no interpreter to prepare",
		      p->runtime->name);
	error_remedy(err, "name an interpreted language, such as python or ruby");
	return r;
}

int translate(struct brig_context *context, const struct translation *wanted, char path[PATH_MAX],
	      struct brig_error *err)
{
	struct prepared p = { .ids = -1, .workdir_fd = -1 };
	char name[WASM_NAME_MAX], folder[PATH_MAX];

	p.spec.devices = p.spec.gate = -1;
	int r = prepare_cell(context, wanted, &p, err);
	if (r < 0) {
		prepared_done(&p);
		return r;
	}
	const struct wasm_module module = { p.engine, p.runtime->real_program, wanted->counted };
	const struct broker *broker = context->runtimes.broker;
	r = wasm_prepared_find(broker, &module, path);
	if (r == 0) {
		r = 1;
	} else if (wasm_prepared_name(p.runtime->real_program, wanted->counted, name) < 0 ||
		   wasm_prepared_folder(p.engine, folder) < 0) {
		r = error_set(err, BRIG_E_HOST, ENAMETOOLONG, "unusable path: %.200s", p.engine);
	} else {
		r = make(context, &p, folder, name, err);
	}
	if (r == 0 && wasm_prepared_find(broker, &module, path) < 0) {
		r = error_set(err, BRIG_E_HOST, EPERM, "others can write to %.200s", folder);
		error_remedy(err, "remove it, and run brig wasm prepare again: its code may be "
				  "another user's");
	}
	prepared_done(&p);
	return r;
}
