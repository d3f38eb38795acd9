/* SPDX-License-Identifier: Apache-2.0 */
/* The front as a whole: start, incoming requests, end. */
#include "front/front.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "front/request/request.h"
#include "http/http_limits.h"
#include "role/log.h"

static void handle(void *user, struct http_exchange *exchange)
{
	request_begin(user, exchange);
}

static int admit(void *user, struct http_exchange *exchange, size_t *ret_limit)
{
	return request_admit(user, exchange, ret_limit);
}

static char *http_problem(void *user, int status, const char *why)
{
	struct problem problem = { 0 };
	struct buf text = { 0 };

	(void)user;
	problem_set(&problem, problem_of_status(status), "%s",
		    status == 401 || status == 403 ? "" : why);
	problem_write(&problem, &text);
	return buf_take(&text);
}

static int copy_uids(const uid_t *uids, size_t count, uid_t **ret, size_t *ret_count)
{
	if (count == 0) {
		return 0;
	}
	*ret = calloc(count, sizeof(uid_t));
	if (!*ret) {
		return -ENOMEM;
	}
	memcpy(*ret, uids, count * sizeof(uid_t));
	*ret_count = count;
	return 0;
}

static int copy_lists(struct front *front, const struct front_options *options)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < options->hosts_count; i++) {
		r = strlist_add(&front->auth.hosts, options->hosts[i]);
	}
	for (size_t i = 0; r == 0 && i < options->origins_count; i++) {
		r = strlist_add(&front->auth.origins, options->origins[i]);
	}
	r = r < 0 ? r
		  : copy_uids(options->uids, options->uids_count, &front->auth.uids,
			      &front->auth.uids_count);
	return r < 0 ? r
		     : copy_uids(options->consent_uids, options->consent_uids_count,
				 &front->auth.consent_uids, &front->auth.consent_uids_count);
}

/* The engines, each in front of the one before it. */
static int make_engines(struct front *front, const struct front_options *options)
{
	int r = fork_engine_new(front, options->engine, &front->forks);

	r = r < 0 ? r : session_engine_new(front, front->forks, &front->sessions);
	r = r < 0 ? r : call_engine_new(front, front->sessions, &front->engine);
	return r < 0 ? r : admitted_engine_new(front, &front->admitted);
}

static int listen_all(struct front *front, const struct front_options *options)
{
	struct http_server_options http = { .limits = options->http,
					    .tcp = options->tcp,
					    .handle = handle,
					    .admit = admit,
					    .problem = http_problem,
					    .user = front };
	int r = http_server_new(front->loop, &http, &front->http);

	for (size_t i = 0; r == 0 && i < options->sockets_count; i++) {
		r = http_server_listen(front->http, options->sockets[i]);
	}
	return r;
}

static int begin_failed(int r, struct brig_error *error)
{
	return error_errno(error, BRIG_E_SYSTEM, -r, "the front cannot start");
}

static int begin(struct front *front, const struct front_options *options, struct brig_error *error)
{
	int r = copy_lists(front, options);

	r = r < 0 ? r : make_engines(front, options);
	if (r < 0) {
		return begin_failed(r, error);
	}
	if (options->tokens) {
		r = tokens_parse(options->tokens, options->tokens_size, &front->auth.tokens, error);
	}
	r = r < 0 ? r : front_mcp_new(front, &front->mcp, error);
	if (r < 0) {
		return r;
	}
	r = listen_all(front, options);
	return r < 0 ? begin_failed(r, error) : 0;
}

void front_options_complete(struct front_options *options, unsigned processors)
{
	struct admission admission;

	limits_complete(&options->http);
	options->admission.body_bytes = options->http.tenant_body_bytes;
	options->admission.answer_bytes = options->http.tenant_answer_bytes;
	admission_init(&admission, &options->admission);
	admission_processors(&admission, processors);
	options->admission = admission.limits;
	admission_done(&admission);
	/* No limit for one tenant: as many as all together. */
	if (!options->admission.running_tenant) {
		options->admission.running_tenant = options->admission.running;
	}
	options->resume_ns = options->resume_ns ? options->resume_ns : FRONT_RESUME_NS;
}

int front_new(struct loop *loop, const struct front_options *options, struct front **ret,
	      struct brig_error *error)
{
	struct front *front = calloc(1, sizeof(*front));

	if (!front || sodium_init() < 0) {
		free(front);
		return error_set(error, BRIG_E_SYSTEM, ENOMEM, "no memory for the front");
	}
	/* jansson would read random bytes from a file, and this process cannot open files. */
	json_object_seed(randombytes_random() | 1);
	front->loop = loop;
	turns_init(&front->turns, loop);
	front->ledger = options->ledger;
	front->auth.owner = options->owner;
	front->queue_held = options->hold_queue;
	front->queue_released = options->queue_released;
	front->queue_user = options->queue_user;
	front->resume_ns = options->resume_ns ? options->resume_ns : FRONT_RESUME_NS;
	front->limits = options->http;
	limits_complete(&front->limits);
	struct admission_limits admission = options->admission;
	admission.body_bytes = front->limits.tenant_body_bytes;
	admission.answer_bytes = front->limits.tenant_answer_bytes;
	admission_init(&front->admission, &admission);
	int r = begin(front, options, error);
	if (r < 0) {
		front_free(front);
		return r;
	}
	front_usage_begin(front);
	front_watch_begin(front);
	if (options->hold_queue) {
		role_log(
			ROLE_WARNING, "queue.held", "remedy=%s",
			"brig queue shows it; brig queue release runs it, brig queue drop ends it");
	} else {
		front_recover(front);
	}
	*ret = front;
	return 0;
}

/* Queued runs stay for the next start; running ones are waited for. */
void front_check_drained(struct front *front)
{
	bool busy = !list_empty(&front->requests) || front->admission.running > 0;

	for (struct execution *e = front->executions; e && !busy; e = execution_next(e)) {
		busy = execution_unfinished(e);
	}
	if (front->draining && front->http_drained && !busy && front->drained) {
		void (*drained)(void *user) = front->drained;

		front->drained = NULL;
		drained(front->drained_user);
	}
}

static void http_drained(void *user)
{
	struct front *front = user;

	front->http_drained = true;
	front_check_drained(front);
}

void front_drain(struct front *front, void (*done)(void *user), void *user)
{
	front->draining = true;
	front->drained = done;
	front->drained_user = user;
	executions_close(front);
	fork_engine_close(front->forks);
	front_mcp_drain(front->mcp);
	http_server_drain(front->http, http_drained, front);
}

void front_free(struct front *front)
{
	if (!front) {
		return;
	}
	front->drained = NULL;
	front_watch_end(front);
	/*
	 * Requests that end make room for others, which must not start now: they run after the next
	 * start.
	 */
	admission_close(&front->admission);
	/* Each request is notified that its client has left; their executions are dropped next. */
	http_server_free(front->http);
	front->http = NULL; /* there is no server any more to return the bytes of bodies to */
	struct request *request;
	while ((request = LIST_FIRST(&front->requests, struct request, node))) {
		request_free(request);
	}
	ledger_queries_forget(front);
	turns_done(&front->turns);
	front_mcp_free(front->mcp);
	engine_free(front->admitted);
	executions_drop(front);
	engine_free(front->engine);
	engine_free(front->sessions);
	engine_free(front->forks);
	admission_done(&front->admission);
	auth_done(&front->auth);
	free(front);
}
