/*
 * A fork of a session: another one like it, with copies of its files and of what its interpreter
 * can tell of its state. That is two runs of a text of ours (data/drivers/fork.*): one in the old
 * session writes the state to a file there, one in the new session gets it as its input. To us it
 * is bytes that a program has written, of which nothing is looked at; only the list of names
 * beside it is read, line by line. It is made of the engine's own calls, so that whatever happens
 * to either session meanwhile, or is done to it, is as it always is.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/embedded.h"
#include "base/error.h"
#include "base/id.h"
#include "engine/engine_fork.h"

#define FORKS_MAX   4
#define STATE_BYTES (16u << 20) /* each name twice, at worst */
#define COPY_BYTES  (1u << 20)  /* in one go: others wait */
#define COPY_FILES  32
/* For either run, where the session does not have less. */
#define RUN_NS UINT64_C(10000000000)

static void finish(struct local_fork *fork);

/* NULL: it is gone, and that is the call's error then, unless there is one. */
static struct local_session *session_of(struct local_fork *fork, const char *id)
{
	const struct engine_call call = { .tenant = fork->tenant, .session = id };
	struct brig_error unused, *error = &fork->run->error;

	return local_session_find(fork->run->local, &call, error->errnum ? &unused : error);
}

static void fail(struct local_fork *fork)
{
	struct engine_run *run = fork->run;

	run->failed = true;
	local_finish(run); /* and so the fork is dropped */
}

void local_fork_drop(struct engine_run *run)
{
	struct local_fork *fork = TAKE_PTR(run->fork);

	if (!fork) {
		return;
	}
	run->local->forks--;
	loop_timer_clear(&fork->more);
	if (fork->inner) {
		engine_forget(fork->inner);
	}
	struct local_session *from = session_of(fork, fork->from);
	struct local_session *to = fork->to[0] ? session_of(fork, fork->to) : NULL;
	if (from && fork->to[0]) {
		(void)brig_session_delete(from->session, fork->state, NULL);
		(void)brig_session_delete(from->session, fork->names, NULL);
	}
	if (to) {
		local_session_end(to, "it was not forked to the end");
	}
	brig_session_files_free(fork->files, fork->files_count);
	strlist_done(&fork->carried);
	strlist_done(&fork->left);
	strlist_done(&fork->files_left);
	buf_done(&fork->data);
	free(fork->tenant);
	free(fork);
}

/* --- calls ----------------------------------------------------------------------------------- */

static void inner_failed(void *user, const struct brig_error *error)
{
	struct local_fork *fork = user;

	fork->inner = NULL;
	fork->run->error = *error;
	fail(fork);
}

/* The text that goes with the session's driver: "session.py", "fork.py". NULL: there is none. */
static const struct embedded_file *find_text(const struct local_session *session)
{
	const char *driver = session->session->prepared.runtime->session_driver;
	const char *dot = strrchr(driver, '.');
	char path[64];

	snprintf(path, sizeof(path), "drivers/fork%s", dot ? dot : "");
	return dot ? embedded_find(path) : NULL;
}

static void run_text(struct local_fork *fork, const char *id, const char *word,
		     void (*end)(void *user, const char *data, size_t size))
{
	struct local_session *session = session_of(fork, id);
	const struct embedded_file *text = session ? find_text(session) : NULL;
	char path[64];
	const char *const args[] = { word, path, NULL };
	struct engine_call call = {
		.op = ENGINE_EXECUTE,
		.tenant = fork->tenant,
		.session = id,
		.end = end,
		.fail = inner_failed,
		.user = fork,
		.run = { .args = args,
			 .limits_most = { .wall_ns = RUN_NS, .cpu_ns = RUN_NS },
			 .stdin_data = fork->data.data,
			 .stdin_size = fork->data.size },
	};

	if (!session) {
		fail(fork);
		return;
	}
	if (!text) { /* a driver of somebody else's: the files are what can be had */
		end(fork, "", 0);
		return;
	}
	snprintf(path, sizeof(path), "/sandbox/%s", fork->state);
	call.run.code = text->data;
	call.run.code_size = text->size;
	if (engine_start(&fork->run->local->engine, &call, &fork->inner, &fork->run->error) < 0) {
		fork->inner = NULL;
		fail(fork);
		return;
	}
	session->runs--; /* it is none of the caller's */
}

/* --- the way --------------------------------------------------------------------------------- */

static void loaded(void *user, const char *data, size_t size)
{
	struct local_fork *fork = user;
	struct local_session *session = session_of(fork, fork->to);

	(void)data;
	(void)size;
	fork->inner = NULL;
	if (!session) {
		fail(fork);
		return;
	}
	/* It is of the old session's making, and can be the new one's end. */
	if (brig_session_state(session->session) == BRIG_SESSION_GONE) {
		error_set(&fork->run->error, BRIG_E_INPUT, EINVAL,
			  "the state of the session was the end of the new one: %s",
			  brig_session_reason(session->session));
		fail(fork);
		return;
	}
	if (fork->data.size && fork_take_names(fork, session) < 0) {
		fork_nothing_carried(fork, "the new interpreter could not take the state");
	}
	finish(fork);
}

static void copy_one(struct local_fork *fork, struct local_session *from, struct local_session *to,
		     const struct brig_session_file *file, size_t *bytes)
{
	_cleanup_free_ char *data = NULL;
	struct brig_error error = { 0 };
	size_t size = 0;
	size_t most = from->session->prepared.policy->files_in_bytes;
	int r = brig_session_get(from->session, file->path, most, &data, &size, &error);

	if (r == 0) {
		r = brig_session_put(to->session, file->path, data, size, file->executable, &error);
	}
	*bytes += size;
	if (r == 0) {
		fork->copied++;
	} else if (fork->files_left.count < FORK_NAMES_MAX) {
		(void)strlist_addf(&fork->files_left, "%.*s\t%s", FORK_NAME_BYTES, file->path,
				   error.message);
	} else {
		fork->truncated = true;
	}
}

/* Some of the files; then others have their turn. */
static void copy_more(void *user)
{
	struct local_fork *fork = user;
	struct local_session *from = session_of(fork, fork->from);
	struct local_session *to = from ? session_of(fork, fork->to) : NULL;
	size_t bytes = 0;

	if (!to) {
		fail(fork);
		return;
	}
	for (unsigned i = 0; i < COPY_FILES && bytes < COPY_BYTES; i++) {
		if (fork->files_at == fork->files_count) {
			run_text(fork, fork->to, "load", loaded);
			return;
		}
		copy_one(fork, from, to, &fork->files[fork->files_at++], &bytes);
	}
	if (loop_timer_set(fork->run->local->loop, &fork->more, clock_now_ns()) < 0) {
		error_set(&fork->run->error, BRIG_E_SYSTEM, ENOMEM, "no memory for a fork");
		fail(fork);
	}
}

/* The old session has written down what it could, or not. */
static void saved(void *user, const char *data, size_t size)
{
	struct local_fork *fork = user;
	struct brig_error *error = &fork->run->error;
	struct local_session *from = session_of(fork, fork->from);
	_cleanup_free_ char *state = NULL;
	size_t state_size = 0;

	(void)data;
	(void)size;
	fork->inner = NULL;
	if (!from) {
		fail(fork);
		return;
	}
	int r = fork_take_names(fork, from);
	if (r == 0) {
		r = brig_session_get(from->session, fork->state, STATE_BYTES, &state, &state_size,
				     NULL);
	}
	(void)brig_session_delete(from->session, fork->state, NULL);
	buf_add(&fork->data, state, state_size);
	if (r < 0 || !state_size || fork->data.failed) {
		fork_nothing_carried(fork, "the interpreter could not tell its state");
	}
	if (brig_session_list(from->session, &fork->files, &fork->files_count, &fork->truncated,
			      error) < 0) {
		fail(fork);
		return;
	}
	fork->more = (struct loop_timer){ .due = copy_more, .user = fork };
	copy_more(fork);
}

static void opened(void *user, const char *data, size_t size)
{
	static const char key[] = "\"id\":\"";
	struct local_fork *fork = user;
	const char *id = memmem(data, size, key, sizeof(key) - 1);

	fork->inner = NULL;
	if (!id || (size_t)(data + size - id) < sizeof(key) + sizeof(fork->to)) {
		error_set(&fork->run->error, BRIG_E_SYSTEM, EIO, "the new session has no id");
		fail(fork);
		return;
	}
	memcpy(fork->to, id + sizeof(key) - 1, sizeof(fork->to) - 1);
	run_text(fork, fork->from, "save", saved);
}

/* --- beginning and end ----------------------------------------------------------------------- */

static void finish(struct local_fork *fork)
{
	struct engine_run *run = fork->run;
	struct local_session *session = session_of(fork, fork->to);

	if (!session) {
		fail(fork);
		return;
	}
	fork_answer(fork, session);
	fork->to[0] = '\0'; /* it stays */
	local_finish(run);
}

/* What the old one has may be more than may be had by whoever asks now. */
static int check_limits(const struct brig_limits *have, const struct brig_limits *may,
			struct brig_error *err)
{
	struct brig_limits has = *have, most = *may;

	for (size_t i = 0; i < limit_table_count; i++) {
		uint64_t bound = *limit_of(&most, &limit_table[i]);
		if (bound && *limit_of(&has, &limit_table[i]) > bound) {
			error_set(err, BRIG_E_INPUT, EINVAL,
				  "%s: the session has more than the caller may have",
				  limit_table[i].name);
			return -EINVAL;
		}
	}
	return 0;
}

/* Hosts as they were asked for: no list is all that the policy has, an empty one is none. */
static const char *const *network_of(const struct local_session *from)
{
	static const char *const none[] = { NULL };

	if (!from->network_asked) {
		return NULL;
	}
	return from->network.count ? (const char *const *)from->network.items : none;
}

/* Nothing less than it had; "off" may be less than the policy has for other languages. */
static const char *guard_of(const struct local_session *from)
{
	enum guard_mode mode = from->session->prepared.guard.mode;

	return mode == GUARD_OFF ? NULL : guard_mode_names[mode];
}

static int open_like(struct local_fork *fork, const struct engine_call *call,
		     const struct local_session *from, struct brig_error *err)
{
	struct engine_call like = {
		.op = ENGINE_SESSION_OPEN,
		.tenant = fork->tenant,
		.idle_ns = from->idle_ns,
		.life_ns = from->life_ns,
		.end = opened,
		.fail = inner_failed,
		.user = fork,
		.run = { .language = from->language,
			 .policy = from->policy,
			 .guard = guard_of(from),
			 .network = network_of(from),
			 .limits = from->session->asked,
			 .limits_most = call->run.limits_most,
			 .env = (const char *const *)from->env.items },
	};
	struct brig_limits *most = &like.run.limits_most, opener = from->session->most;

	for (size_t i = 0; i < limit_table_count; i++) {
		uint64_t a = *limit_of(most, &limit_table[i]),
			 b = *limit_of(&opener, &limit_table[i]);
		*limit_of(most, &limit_table[i]) = !a || (b && b < a) ? b : a;
	}
	int r = check_limits(&from->session->asked, &call->run.limits_most, err);
	return r < 0 ? r : engine_start(&fork->run->local->engine, &like, &fork->inner, err);
}

int local_session_fork(struct local *local, const struct engine_call *call, struct engine_run *run,
		       struct brig_error *err)
{
	struct local_session *from = local_session_find(local, call, err);
	char id[27];

	if (!from) {
		return err && err->errnum ? -err->errnum : -ENOENT;
	}
	if (from->current) {
		return error_set(err, BRIG_E_INPUT, EBUSY, "a run is under way in the session");
	}
	if (local->forks >= FORKS_MAX) {
		return error_set(err, BRIG_E_INPUT, EAGAIN, "others are being forked: try later");
	}
	struct local_fork *fork = calloc(1, sizeof(*fork));
	int r = fork ? id_make(id) : -ENOMEM;
	if (r == 0) {
		fork->tenant = strdup(call->tenant);
		r = fork->tenant ? 0 : -ENOMEM;
	}
	if (r < 0) {
		free(fork);
		return error_errno(err, BRIG_E_SYSTEM, -r, "cannot fork a session");
	}
	fork->run = run;
	run->fork = fork;
	local->forks++;
	memcpy(fork->from, from->id, sizeof(fork->from));
	snprintf(fork->state, sizeof(fork->state), ".brig-fork-%s", id);
	snprintf(fork->names, sizeof(fork->names), "%s.names", fork->state);
	return open_like(fork, call, from, err);
}
