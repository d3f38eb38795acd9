/* SPDX-License-Identifier: Apache-2.0 */
/*
 * File calls of sessions, slice by slice. The protection against hostile trees is in
 * lib/session/session_files.c.
 */
#include "engine/local/engine_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes/block.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/files/memfile.h"
#include "base/json/json_out.h"
#include "lib/session/session.h"
#include "role/message.h"

#define CHUNK_BYTES 65536u
#define SLICE_BYTES (512u << 10)
#define SLICE_FILES 256u

static struct local_session *find(struct local_file *file)
{
	struct engine_call call = { .tenant = file->tenant, .session = file->session };
	struct local_session *session =
		local_session_find(file->run->local, &call, &file->run->error);

	if (session) {
		local_session_touch(session);
	}
	return session;
}

/* NULL: the session has ended meanwhile, and so does its cell. */
static struct run *cell_of(const struct local_file *file)
{
	struct engine_call call = { .tenant = file->tenant, .session = file->session };
	struct brig_error unused = { 0 };
	struct local_session *session = local_session_find(file->run->local, &call, &unused);

	return session ? session->session->phase.run : NULL;
}

static int fail(struct local_file *file, int r)
{
	local_call_enter(file->run, CALL_FAILED);
	if (!file->run->error.message[0]) {
		error_errno(&file->run->error, BRIG_E_SYSTEM, -r, "the file cannot be copied");
	}
	return 1;
}

/* --- list ------------------------------------------------------------------------------------ */

static int begin_list(struct local_file *file)
{
	struct local_session *session = find(file);
	int r = session ? session_listing_new(session->session, &file->list, &file->run->error)
			: -ENOENT;

	return r < 0 ? fail(file, r) : 0;
}

static void print_file(struct json_out *json, const struct brig_session_file *file)
{
	char modified[32];

	local_time_text(file->modified_ns / 1000000u, modified, sizeof(modified));
	json_open(json, NULL, '{');
	json_text(json, "path", file->path);
	json_u64(json, "size", file->size);
	json_text(json, "modified", modified);
	json_bool(json, "executable", file->executable);
	json_close(json, '}');
}

/* A page begins behind a path. */
static size_t find_first(const struct brig_session_file *files, size_t count, const char *after)
{
	size_t first = 0;

	while (after && first < count) {
		size_t middle = first + (count - first) / 2;
		if (strcmp(files[middle].path, after) <= 0) {
			first = middle + 1;
		} else {
			count = middle;
		}
	}
	return first;
}

static void begin_page(struct local_file *file, const struct brig_session_file *files, size_t count)
{
	file->json = (struct json_out){ .buf = &file->run->answer };
	file->at = find_first(files, count, file->path);
	size_t left = count - file->at;
	file->page_end = file->at + (file->size && file->size < left ? file->size : left);
	json_open(&file->json, NULL, '{');
	json_open(&file->json, "files", '[');
}

static int end_page(struct local_file *file, bool truncated)
{
	json_close(&file->json, ']');
	json_bool(&file->json, "truncated", truncated);
	json_close(&file->json, '}');
	return 1;
}

/* First all files are found, then they are printed. */
static int step_list(struct local_file *file)
{
	size_t count = 0;
	bool truncated = false;
	int r = session_listing_step(file->list, &file->run->error);

	if (r != 1) {
		return r < 0 ? fail(file, r) : 0;
	}
	const struct brig_session_file *files =
		session_listing_files(file->list, &count, &truncated);
	if (!file->json.buf) {
		begin_page(file, files, count);
		return 0;
	}
	for (unsigned i = 0; i < SLICE_FILES && file->at < file->page_end; i++) {
		print_file(&file->json, &files[file->at++]);
	}
	return file->at < file->page_end ? 0 : end_page(file, truncated || file->at < count);
}

/* --- get ------------------------------------------------------------------------------------- */

static int begin_get(struct local_file *file)
{
	struct local_session *session = find(file);
	int r = session ? session_file_open(session->session, file->path, FILE_GET_BYTES_MAX,
					    &file->from, &file->size, &file->run->error)
			: -ENOENT;

	if (r < 0) {
		return fail(file, r);
	}
	file->run->file_block = message_block_open(file->size);
	return file->run->file_block < 0 ? fail(file, file->run->file_block) : 0;
}

static int copy_chunk(int from, int to, size_t size, size_t *at)
{
	char chunk[CHUNK_BYTES];
	off_t data = *at < size ? lseek(from, (off_t)*at, SEEK_DATA) : -1;

	if (data < 0 || (uint64_t)data >= size) {
		return 1;
	}
	size_t left = size - (size_t)data;
	ssize_t n = pread(from, chunk, left < sizeof(chunk) ? left : sizeof(chunk), data);
	if (n <= 0) {
		return n < 0 ? -errno : 1;
	}
	ssize_t written = pwrite(to, chunk, (size_t)n, data);
	*at = (size_t)data + (written > 0 ? (size_t)written : 0);
	return written < 0 ? -errno : 0;
}

/* The file may have shrunk meanwhile: the part behind its end was never read. */
static int end_copy(int from, int to, size_t size)
{
	off_t end = lseek(from, 0, SEEK_END);

	if (end >= 0 && ftruncate(to, (uint64_t)end < size ? end : (off_t)size) < 0) {
		return -errno;
	}
	return 1;
}

int local_copy_slice(int from, int to, size_t size, size_t *at)
{
	int r = 0;

	for (size_t i = 0; i < SLICE_BYTES / CHUNK_BYTES && r == 0; i++) {
		r = copy_chunk(from, to, size, at);
	}
	return r == 1 ? end_copy(from, to, size) : r;
}

static int step_get(struct local_file *file)
{
	int block = file->run->file_block;
	int r = local_copy_slice(file->from, block, file->size, &file->at);

	if (r == 1) {
		r = memfile_seal(block);
		r = r < 0 ? r : 1;
	}
	return r < 0 ? fail(file, r) : r;
}

/* --- put, delete ----------------------------------------------------------------------------- */

static int answer_path(struct local_file *file, size_t size)
{
	struct json_out json = { .buf = &file->run->answer };

	json_open(&json, NULL, '{');
	json_text(&json, "path", file->path);
	json_u64(&json, "size", size);
	json_close(&json, '}');
	return 1;
}

static int begin_put(struct local_file *file)
{
	struct local_session *session = find(file);
	int r = session ? session_upload_begin(session->session, file->path, file->size, false,
					       &file->upload, &file->run->error)
			: -ENOENT;

	return r < 0 ? fail(file, r) : 0;
}

static int step_put(struct local_file *file)
{
	size_t left = file->size - file->at;
	size_t part = left < SLICE_BYTES ? left : SLICE_BYTES;
	struct brig_error *error = &file->run->error;

	ssize_t n = part ? write(file->upload.fd, file->data + file->at, part) : 0;
	if (n < 0 && errno != EINTR) {
		return fail(file, session_upload_failed(-errno, file->path, error));
	}
	file->at += n > 0 ? (size_t)n : 0;
	if (file->at < file->size) {
		return 0;
	}
	int r = session_upload_end(&file->upload, file->path, error);
	return r < 0 ? fail(file, r) : answer_path(file, file->size);
}

static int step_delete(struct local_file *file)
{
	struct local_session *session = find(file);

	if (!session || brig_session_delete(session->session, file->path, &file->run->error) < 0) {
		return fail(file, -ENOENT);
	}
	return answer_path(file, 0);
}

/* --- by call --------------------------------------------------------------------------------- */

static const struct {
	int (*begin)(struct local_file *file); /* NULL: everything is done in one slice */
	int (*step)(struct local_file *file);
} steps[ENGINE_OPS] = {
	[ENGINE_FILE_LIST] = { begin_list, step_list },
	[ENGINE_FILE_GET] = { begin_get, step_get },
	[ENGINE_FILE_PUT] = { begin_put, step_put },
	[ENGINE_FILE_DELETE] = { NULL, step_delete },
};

static int step(struct local_file *file)
{
	enum engine_op op = file->run->op;

	if (!file->begun) {
		file->begun = true;
		int r = steps[op].begin ? steps[op].begin(file) : 0;
		if (r != 0) {
			return r;
		}
	}
	return steps[op].step(file);
}

int local_file_step(struct local_file *file)
{
	struct run_section section;

	run_section_enter(cell_of(file), &section);
	int r = step(file);
	run_section_leave(&section);
	return r;
}

static void end_upload(struct local_file *file)
{
	struct run_section section;

	if (file->upload.fd >= 0) {
		run_section_enter(cell_of(file), &section);
		session_upload_done(&file->upload);
		run_section_leave(&section);
	}
}

void local_file_done(struct local_file *file)
{
	session_listing_free(file->list);
	close_fd(&file->from);
	end_upload(file);
	block_unref(file->block);
	free(file->copy);
	free(file->tenant);
	free(file->session);
	free(file->path);
	free(file);
}
