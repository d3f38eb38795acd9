/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of sessions: their tenants, leases and ends. An id reveals nothing and cannot be
 * guessed (80 random bits), but that is not relied on: sessions of another tenant are never found.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/id.h"
#include "base/json/json_out.h"
#include "engine/local/engine_local.h"
#include "lib/session/session.h"

/* --- leases --------------------------------------------------------------------------------- */

static uint64_t lease_end_ns(const struct local_session *session)
{
	uint64_t idle = session->used_ns + session->idle_ns;
	uint64_t life = session->born_ns + session->life_ns;

	if (session->current || session->state == LOCAL_SESSION_OPENING) {
		idle = clock_now_ns() + session->idle_ns; /* it begins when the run ends */
	}
	return idle < life ? idle : life;
}

void local_session_expires(const struct local_session *session, char *text, size_t size)
{
	uint64_t end = lease_end_ns(session), now = clock_now_ns();

	local_time_text(local_wall_ms() + (end > now ? (end - now) / 1000000u : 0), text, size);
}

void local_session_touch(struct local_session *session)
{
	session->used_ns = clock_now_ns();
	if (local_session_is_open(session)) {
		loop_timer_set(session->local->loop, &session->lease, lease_end_ns(session));
	}
}

/* --- the table ------------------------------------------------------------------------------ */

static struct local_session *find_living(struct local *local, const struct engine_call *call)
{
	LIST_EACH(struct local_session, it, &local->sessions, node) {
		if (call->session && local_session_is_open(it) &&
		    strcmp(it->id, call->session) == 0) {
			return strcmp(it->tenant, call->tenant) == 0 ? it : NULL;
		}
	}
	return NULL;
}

struct local_session *local_session_find(struct local *local, const struct engine_call *call,
					 struct brig_error *err)
{
	struct local_session *session = find_living(local, call);

	if (session) {
		return session;
	}
	const struct local_tombstone *stone =
		call->session ? local_tombstone_find(local, call) : NULL;
	if (stone) {
		error_set(err, BRIG_E_INPUT, ESTALE, "the session is gone: %s", stone->reason);
		error_remedy(err, "open another one; its files and variables are lost");
	} else {
		error_set(err, BRIG_E_INPUT, ENOENT, "session not found");
		error_remedy(err, "open one first; a session with a name exists after code has run "
				  "with that name");
	}
	return NULL;
}

void local_session_end(struct local_session *session, const char *reason)
{
	if (session->state == LOCAL_SESSION_ENDED) {
		return;
	}
	local_session_enter(session, LOCAL_SESSION_ENDED);
	session->local->counts.gone++;
	loop_timer_clear(&session->lease);
	local_tombstone_add(session, reason);
	brig_session_end(session->session, reason);
}

static void free_session(struct local_session *session)
{
	local_turn_drop_session(session);
	loop_remove(session->source);
	loop_timer_clear(&session->lease);
	if (session->current) {
		session->current->session = NULL;
	}
	if (session->opener) {
		session->opener->session = NULL;
	}
	brig_session_close(session->session);
	list_remove(&session->local->sessions, &session->node);
	session->local->sessions_count--;
	strlist_done(&session->env);
	strlist_done(&session->network);
	free(session->tenant);
	free(session);
}

void local_sessions_free(struct local *local)
{
	struct local_session *session;

	while ((session = LIST_FIRST(&local->sessions, struct local_session, node))) {
		free_session(session);
	}
	local_tombstones_free(local);
}

unsigned local_sessions_busy(const struct local *local)
{
	unsigned busy = 0;

	LIST_EACH(const struct local_session, it, &local->sessions, node) {
		busy += it->current != NULL;
	}
	return busy;
}

static void lease_due(void *user)
{
	struct local_session *session = user;
	uint64_t now = clock_now_ns();
	char reason[96];

	if (lease_end_ns(session) > now) {
		loop_timer_set(session->local->loop, &session->lease, lease_end_ns(session));
		return;
	}
	bool old = now >= session->born_ns + session->life_ns;
	snprintf(reason, sizeof(reason),
		 old ? "it was open for %llu seconds, the longest time allowed"
		     : "it was idle for %llu seconds",
		 (unsigned long long)((old ? session->life_ns : session->idle_ns) / 1000000000u));
	local_session_end(session, reason);
}

/* --- calls ---------------------------------------------------------------------------------- */

void local_session_describe(struct json_out *json, const struct local_session *session)
{
	struct local_session_facts facts = {
		.id = session->id,
		.language = session->language,
		.policy = session->policy,
		.state = session->state == LOCAL_SESSION_BUSY ? "busy" : "idle",
		.created_ms = session->created_ms,
		.idle_ns = session->idle_ns,
		.runs = session->runs,
	};

	local_session_expires(session, facts.expires, sizeof(facts.expires));
	local_session_print(json, &facts);
}

static void opened(struct local_session *session)
{
	struct engine_run *run = TAKE_PTR(session->opener);
	struct json_out json = { .buf = &run->answer };

	local_session_enter(session, LOCAL_SESSION_IDLE);
	session->local->counts.opened++;
	run->session = NULL;
	local_session_touch(session);
	if (run->forgotten) {
		local_session_end(session, "the client that opened it was gone");
	} else {
		local_session_describe(&json, session);
	}
	local_finish(run);
}

static void not_opened(struct local_session *session)
{
	struct engine_run *run = TAKE_PTR(session->opener);

	local_session_enter(session, LOCAL_SESSION_ENDED);
	run->session = NULL;
	local_call_enter(run, CALL_FAILED);
	run->error = session->session->error;
	if (!run->error.message[0]) {
		error_set(&run->error, BRIG_E_SYSTEM, EIO, "the session could not be opened: %s",
			  brig_session_reason(session->session));
	}
	local_finish(run);
}

static void step(void *user, uint32_t events)
{
	struct local_session *session = user;
	uint64_t began_ns = share_clock_ns();

	(void)events;
	bool gone = brig_session_step(session->session);
	local_bill_session(session);
	local_turn_hold_session(session, began_ns);
	bool opening = session->state == LOCAL_SESSION_OPENING;
	if (!gone) {
		if (opening && brig_session_state(session->session) != BRIG_SESSION_OPENING) {
			opened(session);
		}
		return;
	}
	if (opening) {
		not_opened(session);
	} else {
		local_session_end(session, brig_session_reason(session->session));
	}
	free_session(session);
}

static int check_room(const struct local *local, const char *tenant, struct brig_error *err)
{
	unsigned own = 0;

	LIST_EACH(const struct local_session, it, &local->sessions, node) {
		own += it->state != LOCAL_SESSION_ENDED && strcmp(it->tenant, tenant) == 0;
	}
	if (own >= local->options.sessions_per_tenant) {
		int r = error_set(err, BRIG_E_INPUT, EAGAIN, "there are %u sessions already", own);
		error_remedy(err, "close one of them");
		return r;
	}
	if (local->sessions_count >= local->options.sessions_max) {
		int r = error_set(err, BRIG_E_INPUT, EAGAIN,
				  "the service has no room for more sessions");
		error_remedy(err, "try again later");
		return r;
	}
	return 0;
}

static uint64_t lease(uint64_t asked, uint64_t usual, uint64_t most)
{
	uint64_t value = asked ? asked : usual;

	return value < most ? value : most;
}

static int add_session(struct local *local, const struct engine_call *call,
		       struct local_session *session, struct brig_error *err)
{
	struct brig_request request = call->run;
	const struct engine_options *options = &local->options;

	request.size = sizeof(request);
	request.code = request.file = NULL;
	request.command = NULL;
	request.mounts_listed = true;
	request.network_own = false; /* only as in the policy */
	request.tenant = call->tenant;
	request.id = session->id;
	session->idle_ns = lease(call->idle_ns, options->idle_ns, options->idle_max_ns);
	session->life_ns = lease(call->life_ns, options->life_max_ns, options->life_max_ns);
	session->born_ns = session->used_ns = clock_now_ns();
	session->created_ms = local_wall_ms();
	session->lease = (struct loop_timer){ .due = lease_due, .user = session };
	session->tenant = strdup(call->tenant);
	session->share = shares_of(&local->shares, call->tenant);
	snprintf(session->caller, sizeof(session->caller), "%s", call->caller ? call->caller : "");
	int r = session->tenant ? id_make(session->id) : -ENOMEM;
	for (const char *const *word = request.env; r == 0 && word && *word; word++) {
		r = strlist_add(&session->env, *word);
	}
	session->network_asked = request.network != NULL;
	for (const char *const *word = request.network; r == 0 && word && *word; word++) {
		r = strlist_add(&session->network, *word);
	}
	if (r < 0) {
		return error_errno(err, BRIG_E_SYSTEM, -r, "cannot make a session");
	}
	r = brig_session_open(local->context, &request, &session->session, err);
	if (r < 0) {
		return r;
	}
	snprintf(session->language, sizeof(session->language), "%s",
		 session->session->prepared.runtime->name);
	snprintf(session->policy, sizeof(session->policy), "%s",
		 session->session->prepared.policy->name);
	r = loop_add(local->loop, brig_session_fd(session->session), EPOLLIN, step, session,
		     &session->source);
	if (r == 0 && options->begun) {
		options->begun(
			&(struct engine_begun){ .session = session->id,
						.tenant = session->tenant,
						.cell = session->session->phase.run->cell_name });
	}
	return r < 0 ? error_errno(err, BRIG_E_SYSTEM, -r, "cannot watch a session") : 0;
}

int local_session_open(struct local *local, const struct engine_call *call, struct engine_run *run,
		       struct brig_error *err)
{
	int r = check_room(local, call->tenant, err);

	if (r < 0) {
		return r;
	}
	struct local_session *session = calloc(1, sizeof(*session));
	if (!session) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for a session");
	}
	session->local = local;
	list_prepend(&local->sessions, &session->node);
	local->sessions_count++;
	r = add_session(local, call, session, err);
	if (r < 0) {
		free_session(session);
		return r;
	}
	session->opener = run;
	run->session = session;
	return 0;
}

int local_session_get(struct local *local, const struct engine_call *call, struct engine_run *run,
		      struct brig_error *err)
{
	struct json_out json = { .buf = &run->answer };
	const struct local_session *session = find_living(local, call);
	const struct local_tombstone *stone =
		session || !call->session ? NULL : local_tombstone_find(local, call);

	if (session) {
		local_session_describe(&json, session);
	} else if (stone) {
		local_tombstone_print(&json, stone);
	} else {
		return error_set(err, BRIG_E_INPUT, ENOENT, "session not found");
	}
	return local_finish_soon(run);
}

int local_session_list(struct local *local, const struct engine_call *call, struct engine_run *run,
		       struct brig_error *err)
{
	struct json_out json = { .buf = &run->answer };

	(void)err;
	json_open(&json, NULL, '{');
	json_open(&json, "sessions", '[');
	LIST_EACH(const struct local_session, it, &local->sessions, node) {
		if (local_session_is_open(it) && strcmp(it->tenant, call->tenant) == 0) {
			local_session_describe(&json, it);
		}
	}
	json_close(&json, ']');
	json_close(&json, '}');
	return local_finish_soon(run);
}

int local_session_close(struct local *local, const struct engine_call *call, struct engine_run *run,
			struct brig_error *err)
{
	struct json_out json = { .buf = &run->answer };
	struct local_session *session = local_session_find(local, call, err);

	if (!session) {
		return err && err->errnum ? -err->errnum : -ENOENT;
	}
	local_session_end(session, "it was closed");
	const struct local_tombstone *stone = local_tombstone_find(local, call);
	if (stone) {
		local_tombstone_print(&json, stone);
	}
	return local_finish_soon(run);
}

int local_session_interrupt(struct local *local, const struct engine_call *call,
			    struct engine_run *run, struct brig_error *err)
{
	struct json_out json = { .buf = &run->answer };
	struct local_session *session = local_session_find(local, call, err);

	if (!session) {
		return err && err->errnum ? -err->errnum : -ENOENT;
	}
	/* If there is nothing to interrupt, that is no error: the run may just have ended. */
	brig_session_interrupt(session->session);
	local_session_describe(&json, session);
	return local_finish_soon(run);
}
