/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a session, up and down. */
#include <string.h>

#include "front/ask_parts.h"
#include "front/visit.h"

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

/* Whatever it is: a browser must not take it for a page of ours. */
static void got(void *user, const char *data, size_t size)
{
	struct visit *visit = user;

	visit->run = NULL;
	visit_header(visit, "Content-Disposition", "attachment");
	visit_answer(visit, 200, "application/octet-stream", data, size);
}

void handle_file_get(struct visit *visit)
{
	struct engine_call call;

	if (prepare(visit, ENGINE_FILE_GET, &call)) {
		visit_engine(visit, &call, got);
	}
}

void handle_file_put(struct visit *visit)
{
	struct engine_call call;

	if (prepare(visit, ENGINE_FILE_PUT, &call)) {
		call.data = visit->exchange->body;
		call.size = visit->exchange->body_size;
		visit->status = 204;
		visit_engine(visit, &call, NULL);
	}
}

void handle_file_delete(struct visit *visit)
{
	struct engine_call call;

	if (prepare(visit, ENGINE_FILE_DELETE, &call)) {
		visit->status = 204;
		visit_engine(visit, &call, NULL);
	}
}
