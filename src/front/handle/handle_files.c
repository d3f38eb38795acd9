/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a session: listed, downloaded, uploaded, deleted. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/bytes/block.h"
#include "base/cleanup.h"
#include "engine/remote/engine_messages.h"
#include "front/request/execution_request_parts.h"
#include "front/request/request.h"
#include "front/request/upload.h"

static bool prepare(struct request *request, enum engine_op op, struct engine_call *call)
{
	struct problem problem = { 0 };
	const char *why = NULL;

	*call = (struct engine_call){ .op = op,
				      .session = request->args[0],
				      .path = request->args[1] };
	if (!call->session || !session_id_is_valid(call->session)) {
		request_refuse(request, PROBLEM_NOT_FOUND, "session not found");
		return false;
	}
	if (op != ENGINE_FILE_LIST && (!call->path || !file_name_is_valid(call->path, &why))) {
		problem_set(&problem, PROBLEM_INVALID_REQUEST, "the file's name is refused: %s",
			    why ? why : "no memory");
		problem_remedy(&problem, "use a plain relative name such as data/in.csv");
		request_answer_problem(request, &problem);
		return false;
	}
	return true;
}

void handle_file_list(struct request *request)
{
	struct engine_call call;

	if (prepare(request, ENGINE_FILE_LIST, &call)) {
		request_call_engine(request, &call, NULL);
	}
}

#define FILE_TYPE "application/octet-stream"

/* A browser must not take it for a page of this service. */
static void got(void *user, const char *data, size_t size)
{
	struct request *request = user;

	request->run = NULL;
	request_answer_header(request, "Content-Disposition", "attachment");
	request_answer(request, 200, FILE_TYPE, data, size);
}

/* Long files are sent without a copy: copying 60 MB takes 100 ms, during which all clients wait. */
static void got_block(void *user, int file)
{
	struct request *request = user;
	_cleanup_(block_unrefp)
	struct block *block = NULL;
	_cleanup_close_ int own = fcntl(file, F_DUPFD_CLOEXEC, 0);
	struct rope answer = { 0 };
	struct stat info;

	if (fstat(file, &info) == 0 && info.st_size == 0) {
		got(user, "", 0);
		return;
	}
	if (own < 0 || block_map(&own, ENGINE_ANSWER_MAX, &block) < 0) {
		request->run = NULL;
		request_refuse(request, PROBLEM_MEMORY_LOW, "the file cannot be taken");
		return;
	}
	request->run = NULL;
	request_answer_header(request, "Content-Disposition", "attachment");
	rope_block(&answer, block, 0, block->size);
	request_answer_rope(request, 200, FILE_TYPE, &answer);
}

void handle_file_get(struct request *request)
{
	struct engine_call call;

	if (prepare(request, ENGINE_FILE_GET, &call)) {
		call.end_block = got_block;
		request_call_engine(request, &call, got);
	}
}

void handle_file_put(struct request *request)
{
	struct engine_call call;

	if (!prepare(request, ENGINE_FILE_PUT, &call)) {
		return;
	}
	_cleanup_(block_unrefp)
	struct block *file =
		upload_has(request->exchange) ? upload_text(request->exchange, true) : NULL;
	if (!file && upload_has(request->exchange)) {
		request_refuse(request, PROBLEM_MEMORY_LOW, "no memory for the file");
		return;
	}
	call.block = file;
	call.data = file ? file->data : request->exchange->body;
	call.size = request->exchange->body_size;
	request->status = 204;
	request_call_engine(request, &call, NULL);
}

void handle_file_delete(struct request *request)
{
	struct engine_call call;

	if (prepare(request, ENGINE_FILE_DELETE, &call)) {
		request->status = 204;
		request_call_engine(request, &call, NULL);
	}
}
