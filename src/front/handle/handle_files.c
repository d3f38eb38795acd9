/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a session, up and down. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/block.h"
#include "base/cleanup.h"
#include "engine/engine_messages.h"
#include "front/request/execution_request_parts.h"
#include "front/request/upload.h"
#include "front/request/request.h"

static bool prepare(struct visit *visit, enum engine_op op, struct engine_call *call)
{
	struct problem problem = { 0 };
	const char *why = NULL;

	*call = (struct engine_call){ .op = op, .session = visit->args[0], .path = visit->args[1] };
	if (!call->session || !ask_session_id(call->session)) {
		visit_refuse(visit, PROBLEM_NOT_FOUND, "there is no such session");
		return false;
	}
	if (op != ENGINE_FILE_LIST && (!call->path || !ask_file_name(call->path, &why))) {
		problem_set(&problem, PROBLEM_INVALID_REQUEST, "the file's name is refused: %s",
			    why ? why : "no memory");
		problem_remedy(&problem, "use a plain relative name such as data/in.csv");
		visit_problem(visit, &problem);
		return false;
	}
	return true;
}

void handle_file_list(struct visit *visit)
{
	struct engine_call call;

	if (prepare(visit, ENGINE_FILE_LIST, &call)) {
		visit_engine(visit, &call, NULL);
	}
}

#define FILE_TYPE "application/octet-stream"

/* Whatever it is: a browser must not take it for a page of ours. */
static void got(void *user, const char *data, size_t size)
{
	struct visit *visit = user;

	visit->run = NULL;
	visit_header(visit, "Content-Disposition", "attachment");
	visit_answer(visit, 200, FILE_TYPE, data, size);
}

/* What is long is sent from where it lies: a copy of 60 MB takes 100 ms, which all wait for. */
static void got_block(void *user, int file)
{
	struct visit *visit = user;
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
		visit->run = NULL;
		visit_refuse(visit, PROBLEM_MEMORY_LOW, "the file cannot be taken");
		return;
	}
	visit->run = NULL;
	visit_header(visit, "Content-Disposition", "attachment");
	rope_block(&answer, block, 0, block->size);
	visit_rope(visit, 200, FILE_TYPE, &answer);
}

void handle_file_get(struct visit *visit)
{
	struct engine_call call;

	if (prepare(visit, ENGINE_FILE_GET, &call)) {
		call.end_block = got_block;
		visit_engine(visit, &call, got);
	}
}

void handle_file_put(struct visit *visit)
{
	struct engine_call call;

	if (!prepare(visit, ENGINE_FILE_PUT, &call)) {
		return;
	}
	_cleanup_(block_unrefp)
	struct block *file =
		upload_has(visit->exchange) ? upload_text(visit->exchange, true) : NULL;
	if (!file && upload_has(visit->exchange)) {
		visit_refuse(visit, PROBLEM_MEMORY_LOW, "no memory for the file");
		return;
	}
	call.block = file;
	call.data = file ? file->data : visit->exchange->body;
	call.size = visit->exchange->body_size;
	visit->status = 204;
	visit_engine(visit, &call, NULL);
}

void handle_file_delete(struct visit *visit)
{
	struct engine_call call;

	if (prepare(visit, ENGINE_FILE_DELETE, &call)) {
		visit->status = 204;
		visit_engine(visit, &call, NULL);
	}
}
