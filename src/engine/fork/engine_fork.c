/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forks a session: opens another one like it, with copies of its files and of the state that its
 * interpreter can save. That takes two runs of our own code (data/drivers/fork.*): one in the old
 * session writes the state to a file there, one in the new session reads its copy. The warden
 * treats the state as opaque bytes of a program; it only reads the list of names next to it, line
 * by line. A fork is made of the engine's own calls, so that everything that happens to either
 * session meanwhile is handled as usual.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/embedded.h"
#include "base/error.h"
#include "engine/fork/engine_fork.h"

/* For either run, unless the session's limit is lower. */
#define RUN_NS UINT64_C(10000000000)

static const uint32_t fork_edges[FORK_STATES] = {
	[FORK_WAITING] = STATE_BIT(FORK_OPENING),
	[FORK_OPENING] = STATE_BIT(FORK_SAVING),
	[FORK_SAVING] = STATE_BIT(FORK_COPY_STATE),
	[FORK_COPY_STATE] = STATE_BIT(FORK_COPY_LIST),
	[FORK_COPY_LIST] = STATE_BIT(FORK_COPY_FILES),
	[FORK_COPY_FILES] = STATE_BIT(FORK_LOADING),
	[FORK_LOADING] = 0,
};

void fork_enter(struct local_fork *fork, enum fork_state state)
{
	invariant(state_allows(fork_edges, fork->state, state));
	fork->state = state;
	/* A step begins when the call of the step before has ended. */
	invariant(!fork->inner);
	invariant(fork->to[0] || state == FORK_OPENING);
}

struct local_session *fork_session(struct local_fork *fork, const char *id)
{
	const struct engine_call call = { .tenant = fork->tenant, .session = id };
	struct brig_error unused, *error = &fork->run->error;

	return local_session_find(fork->run->local, &call, error->errnum ? &unused : error);
}

void fork_fail(struct local_fork *fork)
{
	struct engine_run *run = fork->run;

	local_call_enter(run, CALL_FAILED);
	local_finish(run); /* and so the fork is dropped */
}

/* --- calls ----------------------------------------------------------------------------------- */

static void inner_failed(void *user, const struct brig_error *error)
{
	struct local_fork *fork = user;

	fork->inner = NULL;
	fork->run->error = *error;
	fork_fail(fork);
}

/* The code that belongs to the session's driver: "session.py", "fork.py". NULL: there is none. */
static const struct embedded_file *find_text(const struct local_session *session)
{
	const char *driver = session->session->prepared.runtime->session_driver;
	const char *dot = strrchr(driver, '.');
	char path[64];

	snprintf(path, sizeof(path), "drivers/fork%s", dot ? dot : "");
	return dot ? embedded_find(path) : NULL;
}

static void run_text(struct local_fork *fork, struct local_session *session, const char *word,
		     void (*end)(void *user, const char *data, size_t size),
		     void (*failed)(void *user, const struct brig_error *error))
{
	const struct embedded_file *text = find_text(session);
	char path[64];
	const char *const args[] = { word, path, NULL };
	struct engine_call call = {
		.op = ENGINE_EXECUTE,
		.tenant = fork->tenant,
		.caller = fork->caller,
		.unseen = true,
		.session = session->id,
		.end = end,
		.fail = failed,
		.user = fork,
		.run = { .args = args, .limits_most = { .wall_ns = RUN_NS, .cpu_ns = RUN_NS } },
	};

	if (!text) { /* a custom driver: only the files can be copied */
		end(fork, "", 0);
		return;
	}
	snprintf(path, sizeof(path), "/sandbox/%s", fork->state_path);
	call.run.code = text->data;
	call.run.code_size = text->size;
	if (engine_start(&fork->run->local->engine, &call, &fork->inner, &fork->run->error) < 0) {
		struct brig_error error = fork->run->error;
		failed(fork, &error);
		return;
	}
	session->runs--; /* not counted as a run of the caller */
}

/* --- the steps ------------------------------------------------------------------------------ */

/* The state comes from the old session, and may end the new one: then the fork fails. */
static void new_one_ended(void *user, const struct brig_error *why)
{
	struct local_fork *fork = user;

	fork->inner = NULL;
	error_set(&fork->run->error, BRIG_E_INPUT, EINVAL,
		  "the new session ended before it was complete: %s", why->message);
	fork_fail(fork);
}

struct local_session *fork_find_new(struct local_fork *fork)
{
	struct local_session *session = fork_session(fork, fork->to);
	struct brig_error why = fork->run->error;

	if (session && brig_session_state(session->session) != BRIG_SESSION_GONE) {
		return session;
	}
	if (session) {
		error_set(&why, BRIG_E_INPUT, ESTALE, "%s", brig_session_reason(session->session));
	}
	new_one_ended(fork, &why);
	return NULL;
}

static void loaded(void *user, const char *data, size_t size)
{
	struct local_fork *fork = user;

	(void)data;
	(void)size;
	fork->inner = NULL;
	struct local_session *session = fork_find_new(fork);
	if (!session) {
		return;
	}
	(void)brig_session_delete(session->session, fork->state_path, NULL);
	if (fork->has_state && fork_take_names(fork, session) < 0) {
		fork_nothing_carried(fork, "the new interpreter could not load the state");
	}
	fork_answer(fork, session);
	fork->to[0] = '\0'; /* the session stays */
	local_finish(fork->run);
}

void fork_copied(struct local_fork *fork)
{
	struct local_session *session = fork_find_new(fork);

	if (session) {
		fork_enter(fork, FORK_LOADING);
		run_text(fork, session, "load", loaded, new_one_ended);
	}
}

/* The old session has saved its state, or could not. */
static void saved(void *user, const char *data, size_t size)
{
	struct local_fork *fork = user;
	struct local_session *from = fork_session(fork, fork->from);

	(void)data;
	(void)size;
	fork->inner = NULL;
	if (!from) {
		fork_fail(fork);
		return;
	}
	fork->has_state = true;
	if (fork_take_names(fork, from) < 0) {
		fork_nothing_carried(fork, "the interpreter could not save its state");
	}
	fork_start_copy(fork);
}

static void opened(void *user, const char *data, size_t size)
{
	static const char key[] = "\"id\":\"";
	struct local_fork *fork = user;
	const char *id = memmem(data, size, key, sizeof(key) - 1);

	fork->inner = NULL;
	if (!id || (size_t)(data + size - id) < sizeof(key) + sizeof(fork->to)) {
		error_set(&fork->run->error, BRIG_E_SYSTEM, EIO, "the new session has no id");
		fork_fail(fork);
		return;
	}
	memcpy(fork->to, id + sizeof(key) - 1, sizeof(fork->to) - 1);
	struct local_session *from = fork_session(fork, fork->from);
	if (from) {
		fork_enter(fork, FORK_SAVING);
		run_text(fork, from, "save", saved, inner_failed);
	} else {
		fork_fail(fork);
	}
}

void fork_begin(struct local_fork *fork)
{
	struct brig_error *error = &fork->run->error;
	struct local_session *from = fork_session(fork, fork->from);
	struct engine_call call = { .tenant = fork->tenant,
				    .caller = fork->caller,
				    .end = opened,
				    .fail = inner_failed,
				    .user = fork };

	fork_enter(fork, FORK_OPENING);
	if (from && from->state == LOCAL_SESSION_BUSY) {
		error_set(error, BRIG_E_INPUT, EBUSY, "a run is under way in the session");
		from = NULL;
	}
	if (!from || fork_open(fork, from, &call, error) < 0) {
		fork->inner = NULL;
		fork_fail(fork);
	}
}
