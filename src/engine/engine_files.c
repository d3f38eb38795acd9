/* Files of sessions, as calls. What keeps hostile trees harmless is in lib/session_files.c. */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/json_out.h"
#include "engine/engine_local.h"

#define GET_BYTES_MAX (64u << 20)

/* The session, and that a name is given where one is needed. */
static struct local_session *find(struct local *local, const struct engine_call *call,
				  bool needs_path, struct brig_error *err)
{
	if (needs_path && !call->path) {
		error_set(err, BRIG_E_INPUT, EINVAL, "the name of the file is missing");
		return NULL;
	}
	struct local_session *session = local_session_find(local, call, err);
	if (session) {
		local_session_touch(session);
	}
	return session;
}

static int failed(const struct brig_error *err)
{
	return err && err->errnum ? -err->errnum : -EINVAL;
}

int local_file_list(struct local *local, const struct engine_call *call, struct engine_run *run,
		    struct brig_error *err)
{
	struct local_session *session = find(local, call, false, err);
	struct json_out json = { .buf = &run->answer };
	struct brig_session_file *files = NULL;
	size_t count = 0;
	bool truncated = false;

	if (!session) {
		return failed(err);
	}
	int r = brig_session_list(session->session, &files, &count, &truncated, err);
	if (r < 0) {
		return r;
	}
	json_open(&json, NULL, '{');
	json_open(&json, "files", '[');
	for (size_t i = 0; i < count; i++) {
		char modified[32];
		local_time_text(files[i].modified_ns / 1000000u, modified, sizeof(modified));
		json_open(&json, NULL, '{');
		json_text(&json, "path", files[i].path);
		json_u64(&json, "size", files[i].size);
		json_text(&json, "modified", modified);
		json_bool(&json, "executable", files[i].executable);
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_bool(&json, "truncated", truncated);
	json_close(&json, '}');
	brig_session_files_free(files, count);
	return local_finish_soon(run);
}

int local_file_get(struct local *local, const struct engine_call *call, struct engine_run *run,
		   struct brig_error *err)
{
	struct local_session *session = find(local, call, true, err);
	_cleanup_free_ char *data = NULL;
	size_t size = 0;

	if (!session) {
		return failed(err);
	}
	int r = brig_session_get(session->session, call->path, GET_BYTES_MAX, &data, &size, err);
	if (r < 0) {
		return r;
	}
	buf_add(&run->answer, data, size);
	return local_finish_soon(run);
}

static int answer_path(struct engine_run *run, const char *path, size_t size)
{
	struct json_out json = { .buf = &run->answer };

	json_open(&json, NULL, '{');
	json_text(&json, "path", path);
	json_u64(&json, "size", size);
	json_close(&json, '}');
	return local_finish_soon(run);
}

int local_file_put(struct local *local, const struct engine_call *call, struct engine_run *run,
		   struct brig_error *err)
{
	struct local_session *session = find(local, call, true, err);

	if (!session) {
		return failed(err);
	}
	int r = brig_session_put(session->session, call->path, call->data, call->size, false, err);
	return r < 0 ? r : answer_path(run, call->path, call->size);
}

int local_file_delete(struct local *local, const struct engine_call *call, struct engine_run *run,
		      struct brig_error *err)
{
	struct local_session *session = find(local, call, true, err);

	if (!session) {
		return failed(err);
	}
	int r = brig_session_delete(session->session, call->path, err);
	return r < 0 ? r : answer_path(run, call->path, 0);
}
