/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An engine in front of the engine, for sessions. A session is recorded in the ledger before its id
 * is reported, and so is its end. A session that the warden does not know may be from before a
 * restart: then the ledger reports what became of it, to its own tenant alone. All other calls pass
 * straight through.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/id.h"
#include "front/access/session_watch.h"
#include "front/execution/engine_relay.h"
#include "role/log.h"

struct session_relay {
	struct relay relay;
	struct session_watch watch;
};

/* A query that was sent cannot be taken back; its caller may leave before the answer. */
struct session_query {
	struct engine_run *run; /* NULL: it has ended */
	struct session_relay *session_relay;
	char tenant[TOKEN_NAME_MAX + 1], session[27]; /* to be closed if the caller has left */
};

struct engine_run {
	struct relay_call call;
	struct session_query *query;
	enum engine_op op;
	char tenant[TOKEN_NAME_MAX + 1], caller[TOKEN_NAME_MAX + 1], session[65];
	struct buf answer;
	struct brig_error error;
	void (*output)(void *user, int stream, const void *data, size_t size);
	void (*result)(void *user, struct block *result);
};

static struct session_relay *session_relay_of(struct engine_run *run)
{
	return (struct session_relay *)(void *)relay_of(run);
}

static void run_free(struct engine_run *run)
{
	if (run->query) {
		run->query->run = NULL;
	}
	buf_done(&run->answer);
	relay_call_free(&run->call);
}

static void finish(struct engine_run *run)
{
	run->call.end(run->call.user, run->answer.data ? run->answer.data : "", run->answer.size);
	run_free(run);
}

static void fail(struct engine_run *run)
{
	run->call.fail(run->call.user, &run->error);
	run_free(run);
}

/* --- closing sessions without an owner ------------------------------------------------------- */

static void closed(void *user, const char *data, size_t size)
{
	(void)user;
	(void)data;
	(void)size;
}

static void not_closed(void *user, const struct brig_error *error)
{
	(void)user;
	(void)error;
}

/* The caller that opened it has left, or it could not be recorded. */
static void close_session(struct session_relay *session_relay, const char *tenant, const char *id)
{
	struct engine_run *ignored = NULL;
	struct engine_call call = { .op = ENGINE_SESSION_CLOSE,
				    .tenant = tenant,
				    .session = id,
				    .end = closed,
				    .fail = not_closed };

	(void)engine_start(session_relay->relay.inner, &call, &ignored, NULL);
}

/* --- queries to the ledger ------------------------------------------------------------------- */

static struct session_query *query_new(struct engine_run *run)
{
	struct session_query *query = calloc(1, sizeof(*query));

	if (query) {
		query->run = run;
		query->session_relay = session_relay_of(run);
		run->query = query;
	}
	return query;
}

static struct engine_run *detach_run(struct session_query *query)
{
	struct engine_run *run = query->run;

	if (run) {
		run->query = NULL;
	}
	return run;
}

static void unrecorded(struct engine_run *run, const char *why)
{
	role_log_often(ROLE_ERROR, "ledger.session", why, "why=%s", why);
	error_set(&run->error, BRIG_E_SYSTEM, ENOTRECOVERABLE, "the session cannot be recorded");
}

static void opening_recorded(void *user, const struct brig_error *error, const char *data,
			     size_t size)
{
	struct session_query *query = user;
	struct engine_run *run = detach_run(query);

	(void)data;
	(void)size;
	if (!run || error) {
		close_session(query->session_relay, query->tenant, query->session);
	}
	if (run && error) {
		unrecorded(run, error->message);
		fail(run);
	} else if (run) {
		finish(run);
	}
	free(query);
}

/* The session is open: it is recorded first, then reported. */
static void record_opening(struct engine_run *run, const char *data, size_t size)
{
	struct session_query *query = query_new(run);
	json_t *object = json_loadb(data, size, 0, NULL);
	const char *id = json_string_value(json_object_get(object, "id"));
	struct ledger_session session = {
		.id = id,
		.tenant = run->tenant,
		.caller = run->caller,
		.language = json_string_value(json_object_get(object, "language")),
		.policy = json_string_value(json_object_get(object, "policy")),
		.idle_ms = (uint64_t)json_integer_value(json_object_get(object, "idle_timeout_ms")),
	};

	buf_add(&run->answer, data, size);
	if (query && id && id_valid(id) && !run->answer.failed) {
		memcpy(query->tenant, run->tenant, sizeof(query->tenant));
		memcpy(query->session, id, sizeof(query->session));
		if (ledger_session_opened(relay_of(run)->front->ledger, &session, opening_recorded,
					  query) == 0) {
			json_decref(object);
			return;
		}
	}
	if (id) {
		close_session(session_relay_of(run), run->tenant, id);
	}
	json_decref(object);
	free(query);
	run->query = NULL;
	unrecorded(run, "the ledger does not answer");
	fail(run);
}

static void closing_recorded(void *user, const struct brig_error *error, const char *data,
			     size_t size)
{
	struct session_query *query = user;
	struct engine_run *run = detach_run(query);

	/* It is closed, whether its end could be recorded or not. */
	(void)error;
	(void)data;
	(void)size;
	if (run) {
		finish(run);
	}
	free(query);
}

static void record_closing(struct engine_run *run, const char *data, size_t size)
{
	struct session_query *query = query_new(run);
	json_t *object = json_loadb(data, size, 0, NULL);

	buf_add(&run->answer, data, size);
	if (!query || ledger_session_ended(relay_of(run)->front->ledger, run->tenant, run->session,
					   "it was closed", session_runs(object), closing_recorded,
					   query) < 0) {
		free(query);
		run->query = NULL;
		finish(run);
	}
	json_decref(object);
}

/*
 * The warden does not know the session. If the ledger does not either, the warden's error stands.
 */
static void looked_up(void *user, const struct brig_error *error, const char *data, size_t size)
{
	struct session_query *query = user;
	struct engine_run *run = detach_run(query);
	json_t *object = run && !error ? json_loadb(data, size, 0, NULL) : NULL;
	const char *state = json_string_value(json_object_get(object, "state"));
	const char *reason = json_string_value(json_object_get(object, "reason"));

	free(query);
	if (run && state && strcmp(state, "gone") == 0) {
		if (run->op == ENGINE_SESSION_GET) {
			buf_add(&run->answer, data, size);
			finish(run);
			json_decref(object);
			return;
		}
		error_set(&run->error, BRIG_E_INPUT, ESTALE, "the session is gone: %s",
			  reason ? reason : "it has ended");
		error_remedy(&run->error, "open another one; its files and variables are lost");
	}
	json_decref(object);
	if (run) {
		fail(run);
	}
}

static bool look_up(struct engine_run *run)
{
	if (run->error.errnum != ENOENT || !id_valid(run->session)) {
		return false;
	}
	struct session_query *query = query_new(run);
	if (query && ledger_session_get(relay_of(run)->front->ledger, run->tenant, run->session,
					looked_up, query) == 0) {
		return true;
	}
	free(query);
	run->query = NULL;
	return false;
}

/* --- calls ----------------------------------------------------------------------------------- */

static void inner_output(void *user, int stream, const void *data, size_t size)
{
	struct engine_run *run = user;

	run->output(run->call.user, stream, data, size);
}

static void inner_end(void *user, const char *data, size_t size)
{
	struct engine_run *run = user;

	run->call.inner = NULL;
	if (run->op == ENGINE_SESSION_OPEN || run->op == ENGINE_SESSION_FORK) {
		record_opening(run, data, size);
	} else if (run->op == ENGINE_SESSION_CLOSE) {
		record_closing(run, data, size);
	} else {
		run->call.end(run->call.user, data, size);
		run_free(run);
	}
}

static void inner_result(void *user, struct block *result)
{
	struct engine_run *run = user;

	run->call.inner = NULL;
	run->result(run->call.user, result);
	run_free(run);
}

static void inner_fail(void *user, const struct brig_error *error)
{
	struct engine_run *run = user;

	run->call.inner = NULL;
	run->error = *error;
	if (!look_up(run)) {
		fail(run);
	}
}

static int start(struct engine *engine, const struct engine_call *call, struct engine_run **ret,
		 struct brig_error *error)
{
	struct engine *behind = ((struct relay *)(void *)engine)->inner;
	struct engine_call inner = *call;

	if (!call->session && call->op != ENGINE_SESSION_OPEN) {
		return engine_start(behind, call, ret, error);
	}
	struct engine_run *run = relay_call_new(engine, sizeof(*run), call);
	if (!run) {
		return error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory for a call");
	}
	run->op = call->op;
	run->output = call->output;
	run->result = call->result;
	snprintf(run->tenant, sizeof(run->tenant), "%s", call->tenant);
	snprintf(run->caller, sizeof(run->caller), "%s", call->caller ? call->caller : "unknown");
	snprintf(run->session, sizeof(run->session), "%s", call->session ? call->session : "");
	inner.output = call->output ? inner_output : NULL;
	inner.end = inner_end;
	inner.result = call->result ? inner_result : NULL;
	inner.end_block = call->end_block ? relay_end_block : NULL;
	inner.fail = inner_fail;
	inner.user = run;
	int r = engine_start(behind, &inner, &run->call.inner, &run->error);
	if (r < 0 && !look_up(run)) {
		if (error) {
			*error = run->error;
		}
		run_free(run);
		return r;
	}
	*ret = run;
	return 0;
}

static void cancel(struct engine_run *run)
{
	if (run->call.inner) {
		engine_cancel(run->call.inner);
	}
}

static void forget(struct engine_run *run)
{
	if (run->call.inner) {
		engine_forget(run->call.inner);
	}
	run_free(run);
}

static void session_relay_free(struct engine *engine)
{
	struct session_relay *session_relay = (struct session_relay *)(void *)engine;

	session_watch_end(&session_relay->watch);
	relay_free(&session_relay->relay);
}

int session_engine_new(struct front *front, struct engine *inner, struct engine **ret)
{
	static const struct engine_class class = { .start = start,
						   .cancel = cancel,
						   .forget = forget,
						   .pause = relay_pause,
						   .free = session_relay_free };
	struct session_relay *session_relay = (struct session_relay *)(void *)relay_new(
		sizeof(*session_relay), &class, front, inner);

	if (!session_relay) {
		return -ENOMEM;
	}
	session_relay->relay.call_free = run_free;
	session_watch_begin(&session_relay->watch, front, inner);
	*ret = &session_relay->relay.engine;
	return 0;
}
