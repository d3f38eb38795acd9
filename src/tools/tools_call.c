/* SPDX-License-Identifier: Apache-2.0 */
/* From a tool's call to the engine's and back: progress, cancellation, error messages. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "tools/tools_internal.h"

#define BEAT_NS 1000000000u

static void drop(struct tools_call *call)
{
	loop_timer_clear(&call->beat);
	list_remove(&call->tools->calls, &call->node);
	free(call->session);
	free(call);
}

void tools_free(struct tools *tools)
{
	if (!tools) {
		return;
	}
	struct tools_call *call;
	while ((call = LIST_FIRST(&tools->calls, struct tools_call, node))) {
		engine_forget(call->run);
		drop(call);
	}
	output_reads_done(tools);
	kept_outputs_free(tools->kept);
	session_names_free(tools->names);
	for (size_t i = 0; i < tools->texts_count; i++) {
		free(tools->texts[i]);
	}
	free(tools->texts);
	free(tools->tools);
	free(tools);
}

/* For a model: what was wrong, and what it can do about it. */
void tools_fail(struct mcp_call *mcp, const struct brig_error *error)
{
	if (error->remedy[0]) {
		mcp_call_finish_text(mcp, true, "%s. %s", error->message, error->remedy);
	} else {
		mcp_call_finish_text(mcp, true, "%s.", error->message);
	}
}

static void on_output(void *user, int stream, const void *data, size_t size)
{
	struct tools_call *call = user;

	(void)stream;
	(void)data;
	call->output_bytes += size;
}

static void on_end(void *user, const char *data, size_t size)
{
	struct tools_call *call = user;

	call->answer(call, data, size);
	drop(call);
}

static void on_result(void *user, struct block *result)
{
	struct tools_call *call = user;

	tools_answer_execution(call, result);
	drop(call);
}

/* Does the error mean that the session is not found? A file may be missing as well. */
static bool session_not_found(const struct tools_call *call, const struct brig_error *error)
{
	return error->errnum == ESTALE ||
	       (call->executes && error->code == BRIG_E_INPUT && error->errnum == ENOENT);
}

/* EPERM: consent would not help. */
static bool asks_a_person(struct tools_call *call, const struct brig_error *error)
{
	return error->code == BRIG_E_CONSENT && error->errnum == EACCES &&
	       tools_ask_consent(call, error->message);
}

static void on_fail(void *user, const struct brig_error *error)
{
	struct tools_call *call = user;

	if (call->session && (call->arguments || session_not_found(call, error))) {
		session_names_forget(call->tools->names, mcp_call_tenant(call->mcp), call->session);
	}
	if (!asks_a_person(call, error)) {
		struct brig_error reported = *error;
		if (error->code == BRIG_E_CONSENT && tools_declined(call->mcp)) {
			error_remedy(&reported, "the person who was asked did not agree");
		}
		(call->resource   ? tools_fail_resource
		 : call->executes ? tools_fail_execution
				  : tools_fail)(call->mcp, &reported);
	}
	drop(call);
}

static void on_cancel(void *user)
{
	struct tools_call *call = user;

	engine_cancel(call->run);
}

static void on_beat(void *user)
{
	struct tools_call *call = user;
	double seconds = (double)(clock_now_ns() - call->began_ns) / 1e9;
	char message[96];

	snprintf(message, sizeof(message), "running for %.0f s, %zu bytes of output", seconds,
		 call->output_bytes);
	mcp_call_progress(call->mcp, seconds, 0, message);
	loop_timer_set(call->tools->loop, &call->beat, clock_now_ns() + BEAT_NS);
}

static struct tools_call *make(struct tools *tools, struct mcp_call *mcp,
			       const struct tools_call *as)
{
	struct tools_call *call = malloc(sizeof(*call));

	if (!call) {
		return NULL;
	}
	*call = *as;
	call->tools = tools;
	call->mcp = mcp;
	call->began_ns = clock_now_ns();
	call->beat.due = on_beat;
	call->beat.user = call;
	list_prepend(&tools->calls, &call->node);
	return call;
}

/* A name becomes the session's id; an id stays as it is. */
static const char *id_of(struct tools *tools, const struct mcp_call *mcp, const char *session,
			 char id[27])
{
	const char *caller = mcp_call_tenant(mcp);
	const char *found = session ? session_names_find(tools->names, caller, session) : NULL;

	if (!found || !found[0]) {
		return session;
	}
	memcpy(id, found, 27);
	return id;
}

void tools_start(struct tools *tools, struct mcp_call *mcp, struct engine_call *engine_call,
		 const struct tools_call *as)
{
	struct brig_error error = { 0 };
	char id[27];
	struct tools_call *call = make(tools, mcp, as);

	if (call && engine_call->session) {
		call->session = strdup(engine_call->session);
	}
	if (!call || (engine_call->session && !call->session)) {
		error_errno(&error, BRIG_E_SYSTEM, ENOMEM, "the call");
		if (as->arguments) {
			session_names_forget(tools->names, mcp_call_tenant(mcp),
					     engine_call->session);
		}
		tools_fail(mcp, &error);
		if (call) {
			drop(call);
		}
		return;
	}
	engine_call->session = engine_call->op == ENGINE_SESSION_OPEN
				       ? NULL
				       : id_of(tools, mcp, engine_call->session, id);
	if (engine_call->op == ENGINE_SESSION_CLOSE && call->session) {
		session_names_forget(tools->names, mcp_call_tenant(mcp), call->session);
	}
	call->executes = engine_call->op == ENGINE_EXECUTE || call->arguments;
	bool beats = engine_call->op == ENGINE_EXECUTE && mcp_call_wants_progress(mcp);
	engine_call->tenant = mcp_call_tenant(mcp);
	engine_call->run.tenant = engine_call->tenant;
	engine_call->stream = beats;
	engine_call->output = on_output;
	engine_call->end = on_end;
	engine_call->result = engine_call->op == ENGINE_EXECUTE ? on_result : NULL;
	engine_call->fail = on_fail;
	engine_call->user = call;
	if (engine_start(tools->engine, engine_call, &call->run, &error) < 0) {
		on_fail(call, &error);
		return;
	}
	if (beats) {
		loop_timer_set(tools->loop, &call->beat, clock_now_ns() + BEAT_NS);
	}
	mcp_call_on_cancel(mcp, on_cancel, call);
}

void tools_answer_json(struct tools_call *call, const char *data, size_t size)
{
	json_t *value = json_loadb(data, size, JSON_REJECT_DUPLICATES, NULL);

	if (size == 0 || !json_is_object(value)) {
		json_decref(value);
		mcp_call_finish_text(call->mcp, false, "Done.");
		return;
	}
	json_t *text = mcp_text(data, size);
	json_t *result = mcp_result(1, &text);
	if (result) {
		json_object_set(result, "structuredContent", value);
	}
	json_decref(value);
	mcp_call_finish(call->mcp, result);
}
