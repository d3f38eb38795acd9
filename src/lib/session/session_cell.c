/* SPDX-License-Identifier: Apache-2.0 */
/* A session's cell: from a pool if there is one, else made now. See session.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lib/session/session.h"

static int watch_cell(struct brig_session *session, struct brig_error *err)
{
	struct epoll_event want = { .events = EPOLLIN, .data = { .u32 = RUN_OWNERS_EVENT } };

	if (epoll_ctl(session->epoll, EPOLL_CTL_ADD, session->phase.run->epoll, &want) < 0) {
		return error_errno(err, BRIG_E_SYSTEM, errno, "cannot watch the session's cell");
	}
	return 0;
}

static struct phase_options options_of(const struct brig_session *session)
{
	return (struct phase_options){ .id = session->id, .session = &session->link };
}

/* `ready`: the channel of a cell made ahead, which has the other end already; -1: makes one. */
static int open_channel(struct brig_session *session, int ready, struct brig_error *err)
{
	struct epoll_event want = { .events = EPOLLIN, .data = { .u32 = RUN_OWNERS_EVENT } };

	channel_done(&session->channel);
	close_fd(&session->inside);
	int r = ready >= 0 ? channel_adopt(&session->channel, ready)
			   : channel_make(&session->channel, &session->inside);
	if (r == 0 && epoll_ctl(session->epoll, EPOLL_CTL_ADD, session->channel.fd, &want) < 0) {
		r = -errno;
	}
	session->link.channel = session->inside;
	session->channel.guarded = session->prepared.guard.on;
	return r < 0 ? error_errno(err, BRIG_E_SYSTEM, -r, "cannot make a session's channel") : 0;
}

static int start_cold(struct brig_session *session, struct brig_error *err)
{
	struct phase_options options = options_of(session);
	int r = open_channel(session, -1, err);

	if (r < 0) {
		return r;
	}
	r = phase_start(&session->phase, session->context, &session->prepared, &options, err);
	return r < 0 ? r : watch_cell(session, err);
}

/* Output before the first run belongs to no run. The driver has its own time limit to start. */
static void set_opening_limits(struct brig_session *session)
{
	session->prepared.spec.limits.wall_ns = SESSION_START_NS;
	session->prepared.spec.limits.stdout_bytes = 0;
	session->prepared.spec.limits.stderr_bytes = 0;
}

static struct warm_pool *find_pool(struct brig_session *session, const struct brig_request *request)
{
	struct warm *warm = session->context->warm;
	struct brig_request like = *request;
	struct brig_error unused = { 0 };

	if (!warm || request->start == BRIG_START_COLD) {
		return NULL;
	}
	like.code = "0"; /* pools are found by a request with code */
	like.code_size = 1;
	struct warm_pool *pool = warm_pool_for(warm, &like, &unused);
	if (!pool || pool->base.spec.kind != CELL_CLONED ||
	    !pool->base.runtime->session_driver[0]) {
		return NULL;
	}
	if (!warm_pool_ready(pool)) {
		warm_step(warm, 1);
	}
	return warm_pool_await(pool, request->start, session->context->hurried) ? pool : NULL;
}

int session_cell_attach(struct brig_session *session)
{
	struct run *run = session->phase.run;

	epoll_ctl(session->epoll, EPOLL_CTL_DEL, run->epoll, NULL);
	return run_attach(run, session->epoll, session->timer);
}

void session_cell_detach(struct brig_session *session)
{
	struct run *run = session->phase.run;

	if (run && !run->attached) {
		epoll_ctl(session->epoll, EPOLL_CTL_DEL, run->epoll, NULL);
	} else if (run) {
		run_detach(run);
	}
}

static void end_phase(struct brig_session *session)
{
	session_cell_detach(session);
	phase_done(&session->phase);
}

/* The clone failed before any code of a tenant ran in it: starts a cold cell instead. */
static int start_cold_instead(struct brig_session *session, struct brig_error *err)
{
	end_phase(session);
	warm_cell_free(TAKE_PTR(session->cell));
	int r = prepare_cold(&session->prepared, err);
	return r < 0 ? r : start_cold(session, err);
}

static int assign_cell(struct brig_session *session)
{
	struct phase_options options = options_of(session);
	struct run *run = session->phase.run;
	struct brig_error unused = { 0 };
	int r = open_channel(session, run->provider->take_channel(run), &unused);

	if (r < 0) {
		return r;
	}
	r = watch_cell(session, &unused);
	if (r < 0) {
		return r;
	}
	return phase_assign(&session->phase, session->context, &session->prepared, &options, run,
			    &unused);
}

static int start_warm(struct brig_session *session, struct warm_pool *pool,
		      const struct brig_request *request, struct brig_error *err)
{
	int r = prepare_session_request(&pool->base, request, &session->prepared, err);

	if (r < 0) {
		return r;
	}
	set_opening_limits(session);
	pool->uses++;
	session->pool = pool;
	session->cell = warm_pool_take(pool);
	session->phase.run = TAKE_PTR(session->cell->run);
	return assign_cell(session) < 0 ? start_cold_instead(session, err) : 0;
}

int session_cell_start(struct brig_session *session, const struct brig_request *request,
		       struct brig_error *err)
{
	struct warm_pool *pool = find_pool(session, request);

	if (pool) {
		return start_warm(session, pool, request, err);
	}
	int r = prepare(session->context, request, PURPOSE_SESSION, &session->prepared, err);
	if (r < 0) {
		return r;
	}
	set_opening_limits(session);
	return start_cold(session, err);
}

int session_cell_step(struct brig_session *session)
{
	bool opening = session->state == SESSION_OPENING;
	int r = phase_step(&session->phase, &session->error);

	if (r != 0 && r != PHASE_RESTARTED && opening && phase_is_warm(&session->phase) &&
	    session->phase.run->facts.ending == ENDING_NONE) {
		r = start_cold_instead(session, &session->error);
		return r;
	}
	if (r == PHASE_RESTARTED) {
		return watch_cell(session, &session->error);
	}
	return r;
}

/* Lets the pools free the cell later, if there are any. */
static bool reap(struct brig_session *session)
{
	struct warm *warm = session->context->warm;
	struct run *run = session->phase.run;

	if (!warm || !run) {
		return false;
	}
	session_cell_detach(session);
	if (!session->cell) {
		return warm_reap_run(warm, &session->phase.run, &session->prepared);
	}
	run_end_now(run, ENDING_CANCELLED);
	session->cell->run = TAKE_PTR(session->phase.run);
	warm_reap(warm, TAKE_PTR(session->cell));
	return true;
}

void session_cell_done(struct brig_session *session)
{
	if (!reap(session)) {
		end_phase(session);
		warm_cell_free(TAKE_PTR(session->cell));
	}
	prepared_done(&session->prepared);
	if (session->pool) {
		warm_pool_unuse(TAKE_PTR(session->pool));
	}
}

void session_describe(const struct brig_session *session, struct brig_result *result)
{
	const struct prepared *p = &session->prepared;

	snprintf(result->policy, sizeof(result->policy), "%s@sha256:%s", p->policy->name,
		 p->policy->hash);
	snprintf(result->language, sizeof(result->language), "%s", p->runtime->name);
	snprintf(result->runtime, sizeof(result->runtime), "%.31s%s%.31s", p->runtime->name,
		 p->runtime->version[0] ? " " : "", p->runtime->version);
	snprintf(result->start, sizeof(result->start), "session");
}
