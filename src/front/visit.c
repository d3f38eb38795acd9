/* SPDX-License-Identifier: Apache-2.0 */
/* From a request to its handler, and from there to an answer. */
#include "front/visit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/json_out.h"
#include "role/log.h"

void visit_free(struct visit *visit)
{
	struct front *front = visit->front;

	if (visit->closed) {
		visit->closed(visit);
	}
	if (visit->run) {
		engine_forget(visit->run);
	}
	execution_unlisten(&visit->listener);
	*(visit->previous ? &visit->previous->next : &front->visits) = visit->next;
	if (visit->next) {
		visit->next->previous = visit->previous;
	}
	for (size_t i = 0; i < ROUTE_ARGS; i++) {
		free(visit->args[i]);
	}
	free(visit);
}

void visit_header(struct visit *visit, const char *name, const char *value)
{
	if (visit->exchange) {
		http_answer_header(visit->exchange, name, value);
	}
}

const char *visit_asks(const struct visit *visit, const char *header)
{
	return visit->exchange ? http_header_find(visit->exchange, header) : NULL;
}

bool visit_accepts(const struct visit *visit, const char *type)
{
	const char *accept = visit_asks(visit, "Accept");

	return accept && strcasestr(accept, type) != NULL;
}

void visit_answer(struct visit *visit, int status, const char *type, const void *data, size_t size)
{
	struct http_exchange *exchange = visit->exchange;

	if (exchange) {
		visit->front->counts.answers[status / 100 % 6]++;
		http_answer_header(exchange, "X-Content-Type-Options", "nosniff");
		http_answer_header(exchange, "Cache-Control", "no-store");
		exchange->gone = NULL;
		exchange->drained = NULL;
		visit->exchange = NULL;
		if (http_streaming(exchange)) {
			http_cut(exchange);
		} else {
			http_respond(exchange, status, type, data, size);
		}
	}
	visit_free(visit);
}

void visit_json(struct visit *visit, int status, const char *json, size_t size)
{
	visit_answer(visit, status, "application/json", json, size);
}

void visit_empty(struct visit *visit, int status)
{
	visit_answer(visit, status, NULL, "", 0);
}

void visit_problem(struct visit *visit, const struct problem *problem)
{
	struct problem said = *problem;
	struct buf text = { 0 };
	char retry[16];

	problem_retry(&said);
	problem_write(problem, &text);
	visit->front->counts.problems[problem->kind]++;
	if (said.retry_s) {
		snprintf(retry, sizeof(retry), "%u", said.retry_s);
		visit_header(visit, "Retry-After", retry);
	}
	if (problem->kind == PROBLEM_UNAUTHORIZED) {
		visit_header(visit, "WWW-Authenticate", "Bearer");
	}
	visit_answer(visit, problem_info(problem->kind)->status, "application/problem+json",
		     text.data ? text.data : "{}", text.data ? text.size : 2);
	buf_done(&text);
}

void visit_refuse(struct visit *visit, enum problem_kind kind, const char *detail)
{
	struct problem problem = { 0 };

	problem_set(&problem, kind, "%s", detail ? detail : "");
	visit_problem(visit, &problem);
}

/* --- asking the engine ----------------------------------------------------------------------- */

static void audit(struct visit *visit, const char *data, size_t size)
{
	struct buf facts = { 0 };
	struct json_out json = { .buf = &facts };
	json_t *answer = json_loadb(data, size, 0, NULL);
	const char *id = json_string_value(json_object_get(answer, "id"));

	json_open(&json, NULL, '{');
	json_text(&json, "caller", visit->caller.name);
	json_text(&json, "session", id ? id : visit->args[0]);
	if (visit->args[1]) {
		json_text(&json, "file", visit->args[1]);
	}
	json_close(&json, '}');
	ledger_audit(visit->front->ledger, visit->audit, visit->caller.tenant,
		     facts.data ? facts.data : "{}", NULL, NULL);
	json_decref(answer);
	buf_done(&facts);
}

static void engine_end(void *user, const char *data, size_t size)
{
	struct visit *visit = user;

	visit->run = NULL;
	if (visit->audit) {
		audit(visit, data, size);
	}
	if (visit->status == 204) {
		visit_empty(visit, 204);
	} else {
		visit_json(visit, visit->status ? visit->status : 200, data, size);
	}
}

static void engine_fail(void *user, const struct brig_error *error)
{
	struct visit *visit = user;
	struct problem problem = { 0 };

	visit->run = NULL;
	if (error->code == BRIG_E_SYSTEM || error->code == BRIG_E_HOST) {
		role_log(ROLE_ERROR, "engine.failed", "route=%s why=%s", visit->route->pattern,
			 error->message);
	}
	problem_of_error(&problem, error);
	visit_problem(visit, &problem);
}

void visit_engine(struct visit *visit, struct engine_call *call,
		  void (*end)(void *user, const char *data, size_t size))
{
	struct brig_error error = { 0 };

	call->tenant = visit->caller.tenant;
	call->caller = visit->caller.name;
	call->run.tenant = visit->caller.tenant;
	call->end = end ? end : engine_end;
	call->fail = engine_fail;
	call->user = visit;
	if (engine_start(visit->front->engine, call, &visit->run, &error) < 0) {
		visit->run = NULL;
		engine_fail(visit, &error);
	}
}

/* --- tokens that are gone --------------------------------------------------------------------- */

static bool is_revoked(const struct visit *visit)
{
	return visit->caller.token &&
	       !auth_stands(&visit->front->auth, visit->caller.tenant, visit->caller.name);
}

/* The end of one may be the end of others: each time from the beginning. */
static struct visit *find_revoked(const struct front *front)
{
	for (struct visit *visit = front->visits; visit; visit = visit->next) {
		if (is_revoked(visit)) {
			return visit;
		}
	}
	return NULL;
}

void visits_revoke(struct front *front)
{
	struct visit *visit;

	for (visit = front->visits; visit; visit = visit->next) {
		if (visit->caller.token && !is_revoked(visit)) {
			visit->caller.token = tokens_named(&front->auth.tokens, visit->caller.name);
		}
	}
	while ((visit = find_revoked(front)) != NULL) {
		visit_refuse(visit, PROBLEM_UNAUTHORIZED, "the token is not valid any more");
	}
}

/* --- coming in ------------------------------------------------------------------------------- */

static void gone(void *user)
{
	struct visit *visit = user;

	visit->exchange = NULL;
	if (visit->left) {
		visit->left(visit);
	} else {
		visit_free(visit);
	}
}

/* application/json, and its parameters if any. */
static bool is_json(const char *type)
{
	size_t length = strlen("application/json");

	return type && strncasecmp(type, "application/json", length) == 0 &&
	       strchr(" ;", type[length]);
}

static int check_body(struct visit *visit, struct problem *problem)
{
	const struct http_exchange *exchange = visit->exchange;
	const struct route *route = visit->route;

	if (exchange->body_size > route->body_max) {
		return problem_set(problem,
				   route->body == ROUTE_NO_BODY ? PROBLEM_INVALID_REQUEST
								: PROBLEM_CONTENT_TOO_LARGE,
				   "the body has more than %zu bytes", route->body_max);
	}
	if (route->body == ROUTE_JSON && !is_json(http_header_find(exchange, "Content-Type"))) {
		problem_set(problem, PROBLEM_UNSUPPORTED_MEDIA_TYPE, "%s", "");
		problem_remedy(problem, "send it with Content-Type: application/json");
		return -EINVAL;
	}
	return 0;
}

static int check(struct visit *visit, struct problem *problem)
{
	struct front *front = visit->front;
	struct http_exchange *exchange = visit->exchange;
	enum problem_kind kind = auth_place(&front->auth, exchange);
	char allowed[64];
	bool known;

	visit->route = route_find(exchange->method, exchange->path, visit->args, &known, allowed);
	if (kind == PROBLEM_NONE && !(visit->route && visit->route->open)) {
		kind = auth_caller(&front->auth, exchange, &visit->caller);
	}
	if (kind != PROBLEM_NONE) {
		front_audit_refusal(front, exchange, kind);
		return problem_set(problem, kind, "%s", "");
	}
	if (!visit->route && known) {
		visit_header(visit, "Allow", allowed);
		problem_set(problem, PROBLEM_METHOD_NOT_ALLOWED, "only %s here", allowed);
		return -EINVAL;
	}
	if (!visit->route) {
		problem_set(problem, PROBLEM_NOT_FOUND, "there is no such path");
		problem_remedy(problem, "GET /openapi.json lists them all");
		return -ENOENT;
	}
	if (!exchange->budget && !visit->route->open) {
		exchange->budget = admission_budget(&front->admission, visit->caller.tenant);
	}
	int r = check_body(visit, problem);
	return r == 0 && !visit->route->open
		       ? admission_rate(&front->admission, &visit->caller, problem)
		       : r;
}

void visit_begin(struct front *front, struct http_exchange *exchange)
{
	struct visit *visit = calloc(1, sizeof(*visit));
	struct problem problem = { 0 };

	if (!visit) {
		http_answer_header(exchange, "Retry-After", "2");
		http_respond(exchange, 503, NULL, "", 0);
		return;
	}
	visit->front = front;
	visit->exchange = exchange;
	visit->listener.user = visit;
	visit->next = front->visits;
	if (visit->next) {
		visit->next->previous = visit;
	}
	front->visits = visit;
	exchange->gone = gone;
	exchange->user = visit;
	if (check(visit, &problem) < 0) {
		visit_problem(visit, &problem);
	} else {
		visit->route->handle(visit);
	}
}

void visit_end_stream(struct visit *visit)
{
	struct http_exchange *exchange = visit->exchange;

	if (exchange) {
		exchange->gone = NULL;
		exchange->drained = NULL;
		visit->exchange = NULL;
		http_stream_end(exchange);
	}
	visit_free(visit);
}
