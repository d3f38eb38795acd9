/* SPDX-License-Identifier: Apache-2.0 */
/* Tools for sessions and their files: each is one call of the engine. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/id.h"
#include "tools/tools_internal.h"

static const char *text_of(const json_t *arguments, const char *name)
{
	return json_string_value(json_object_get(arguments, name));
}

static void start(void *user, struct mcp_call *mcp, struct engine_call *call)
{
	tools_start(user, mcp, call, &(struct tools_call){ .answer = tools_answer_json });
}

void tool_list_runtimes(void *user, struct mcp_call *mcp, const json_t *arguments)
{
	(void)arguments;
	start(user, mcp, &(struct engine_call){ .op = ENGINE_RUNTIMES });
}

static void open_session(struct tools *tools, struct mcp_call *mcp, const json_t *arguments,
			 const struct tools_call *as)
{
	const char *language = text_of(arguments, "language");
	double idle = json_number_value(json_object_get(arguments, "idle_timeout"));
	const json_t *hosts = json_object_get(arguments, "network");
	_cleanup_free_ const char **network = NULL;
	struct brig_error error = { 0 };

	if (tools_words(hosts, "network", &network, &error) < 0) {
		if (as->arguments) {
			session_names_forget(tools->names, mcp_call_tenant(mcp),
					     text_of(arguments, "session_id"));
		}
		tools_fail(mcp, &error);
		return;
	}
	struct engine_call call = {
		.op = ENGINE_SESSION_OPEN,
		.session = as->arguments ? text_of(arguments, "session_id") : NULL,
		.idle_ns = idle > 1e6 ? (uint64_t)1e15 : (uint64_t)(idle * 1e9),
		.run = {
			.size = sizeof(struct brig_request),
			.language = language ? language : "python",
			.policy = tools->options.policy,
			.provider = text_of(arguments, "provider"),
			.venv = text_of(arguments, "venv"),
			.guard = text_of(arguments, "guard"),
			.network = hosts ? network : NULL,
			.consent = tools_consent(tools, mcp, arguments),
		},
	};

	tools_start(tools, mcp, &call, as);
}

void tool_open_session(void *user, struct mcp_call *mcp, const json_t *arguments)
{
	open_session(user, mcp, arguments, &(struct tools_call){ .answer = tools_answer_json });
}

/* The engine's session object: the name is valid from now on, and the code can run. */
static void opened_for(struct tools_call *call, const char *data, size_t size)
{
	struct tools *tools = call->tools;
	struct brig_error error = { 0 };
	json_t *object = json_loadb(data, size, JSON_REJECT_DUPLICATES, NULL);
	const char *id = json_string_value(json_object_get(object, "id"));
	json_int_t idle_ms = json_integer_value(json_object_get(object, "idle_timeout_ms"));
	const char *caller = mcp_call_tenant(call->mcp);

	if (id && id_valid(id)) {
		session_names_opened(tools->names, caller, call->session, id,
				     (uint64_t)idle_ms * 1000000u);
	} else {
		session_names_forget(tools->names, caller, call->session);
	}
	if (mcp_call_is_cancelled(call->mcp)) {
		mcp_call_finish(call->mcp, NULL);
	} else if (id && id_valid(id)) {
		tool_execute_opened(tools, call->mcp, call->arguments);
	} else {
		error_set(&error, BRIG_E_SYSTEM, EPROTO, "the session cannot be opened");
		tools_fail_execution(call->mcp, &error);
	}
	json_decref(object);
}

void tool_open_for(struct tools *tools, struct mcp_call *mcp, const json_t *arguments)
{
	open_session(tools, mcp, arguments,
		     &(struct tools_call){ .answer = opened_for, .arguments = arguments });
}

void tool_close_session(void *user, struct mcp_call *mcp, const json_t *arguments)
{
	start(user, mcp,
	      &(struct engine_call){ .op = ENGINE_SESSION_CLOSE,
				     .session = text_of(arguments, "session_id") });
}

void tool_interrupt_session(void *user, struct mcp_call *mcp, const json_t *arguments)
{
	start(user, mcp,
	      &(struct engine_call){ .op = ENGINE_SESSION_INTERRUPT,
				     .session = text_of(arguments, "session_id") });
}

void tool_fork_session(void *user, struct mcp_call *mcp, const json_t *arguments)
{
	start(user, mcp,
	      &(struct engine_call){ .op = ENGINE_SESSION_FORK,
				     .session = text_of(arguments, "session_id") });
}

void tool_list_sessions(void *user, struct mcp_call *mcp, const json_t *arguments)
{
	(void)arguments;
	start(user, mcp, &(struct engine_call){ .op = ENGINE_SESSION_LIST });
}

/* The answer has each file twice, as text and as a value: a page bounds that work. */
void tool_list_files(void *user, struct mcp_call *mcp, const json_t *arguments)
{
	const json_t *limit = json_object_get(arguments, "limit");

	start(user, mcp,
	      &(struct engine_call){
		      .op = ENGINE_FILE_LIST,
		      .session = text_of(arguments, "session_id"),
		      .path = text_of(arguments, "after"),
		      .list_max = limit ? (uint64_t)json_integer_value(limit) : PAGE_FILES,
	      });
}

/* A path with a NUL in it would be cut there. */
static bool path_is_text(struct mcp_call *mcp, const json_t *arguments)
{
	const json_t *path = json_object_get(arguments, "path");

	if (strlen(json_string_value(path)) == json_string_length(path)) {
		return true;
	}
	mcp_call_finish_text(mcp, true, "The path has a NUL in it.");
	return false;
}

void tools_answer_file(struct tools_call *call, const char *data, size_t size)
{
	const char *type = size <= IMAGE_BYTES_MAX ? tools_image_type(data, size) : NULL;
	json_t *items[2];
	size_t count = 0;

	if (type && call->offset == 0) {
		items[count++] = mcp_image(type, data, size);
	} else {
		items[count++] = tools_page(data ? data : "", size, call->offset, call->limit);
		if (call->offset + call->limit < size) {
			char note[96];
			int length = snprintf(note, sizeof(note),
					      "[%zu bytes in all; more with offset %zu]", size,
					      call->offset + call->limit);
			items[count++] = mcp_text(note, (size_t)length);
		}
	}
	mcp_call_finish(call->mcp, mcp_result(count, items));
}

void tool_read_file(void *user, struct mcp_call *mcp, const json_t *arguments)
{
	const json_t *limit = json_object_get(arguments, "limit");
	struct engine_call call = {
		.op = ENGINE_FILE_GET,
		.session = text_of(arguments, "session_id"),
		.path = text_of(arguments, "path"),
	};

	if (path_is_text(mcp, arguments)) {
		tools_start(user, mcp, &call,
			    &(struct tools_call){
				    .answer = tools_answer_file,
				    .offset = (size_t)json_integer_value(
					    json_object_get(arguments, "offset")),
				    .limit = limit ? (size_t)json_integer_value(limit) : PAGE_BYTES,
			    });
	}
}

void tool_write_file(void *user, struct mcp_call *mcp, const json_t *arguments)
{
	struct brig_error error = { 0 };
	_cleanup_free_ char *data = NULL;
	size_t size = 0;

	if (!path_is_text(mcp, arguments)) {
		return;
	}
	if (tools_content(arguments, &data, &size, &error) < 0) {
		tools_fail(mcp, &error);
		return;
	}
	start(user, mcp,
	      &(struct engine_call){
		      .op = ENGINE_FILE_PUT,
		      .session = text_of(arguments, "session_id"),
		      .path = text_of(arguments, "path"),
		      .data = data,
		      .size = size,
	      });
}

void tool_delete_file(void *user, struct mcp_call *mcp, const json_t *arguments)
{
	if (path_is_text(mcp, arguments)) {
		start(user, mcp,
		      &(struct engine_call){ .op = ENGINE_FILE_DELETE,
					     .session = text_of(arguments, "session_id"),
					     .path = text_of(arguments, "path") });
	}
}
