/* SPDX-License-Identifier: Apache-2.0 */
/* From a request to its handler, and from there to an answer. */
#include "front/request/request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/json/json_out.h"
#include "role/log.h"

/* One line for each request, for those who want it. */
static void log_access(const struct visit *visit)
{
	if (visit->line) {
		role_log(ROLE_INFO, "request", "request=%s status=%d caller=%s tenant=%s ms=%llu",
			 visit->line, visit->answered,
			 visit->caller.name[0] ? visit->caller.name : NULL,
			 visit->caller.tenant[0] ? visit->caller.tenant : NULL,
			 (unsigned long long)((clock_now_ns() - visit->began_ns) / 1000000));
	}
}

void visit_free(struct visit *visit)
{
	struct front *front = visit->front;

	log_access(visit);

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
	free(visit->line);
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

/* The exchange, if it can be answered: it is not the visit's any more. */
static struct http_exchange *let_go(struct visit *visit, int status)
{
	struct http_exchange *exchange = visit->exchange;

	if (!exchange) {
		return NULL;
	}
	visit->front->counts.answers[status / 100 % 6]++;
	visit->answered = status;
	http_answer_header(exchange, "X-Content-Type-Options", "nosniff");
	http_answer_header(exchange, "Cache-Control", "no-store");
	exchange->gone = NULL;
	exchange->drained = NULL;
	visit->exchange = NULL;
	if (http_streaming(exchange)) {
		http_cut(exchange);
		return NULL;
	}
	return exchange;
}

void visit_answer(struct visit *visit, int status, const char *type, const void *data, size_t size)
{
	struct http_exchange *exchange = let_go(visit, status);

	if (exchange) {
		http_respond(exchange, status, type, data, size);
	}
	visit_free(visit);
}

void visit_rope(struct visit *visit, int status, const char *type, struct rope *text)
{
	struct http_exchange *exchange = let_go(visit, status);

	if (exchange) {
		http_respond_rope(exchange, status, type, text);
	}
	rope_done(text);
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

const char *visit_reach(const struct visit *visit)
{
	return visit->caller.is_operator ? LEDGER_ANY_TENANT : visit->caller.tenant;
}

void visit_audit_other(struct visit *visit, const char *kind, const char *tenant, const char *id)
{
	struct buf facts = { 0 };
	struct json_out json = { .buf = &facts };

	if (strcmp(tenant, visit->caller.tenant) == 0) {
		return;
	}
	json_open(&json, NULL, '{');
	json_text(&json, "caller", visit->caller.name);
	json_text(&json, "execution", id);
	json_close(&json, '}');
	ledger_audit(visit->front->ledger, kind, tenant, facts.data ? facts.data : "{}", NULL,
		     NULL);
	buf_done(&facts);
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
	problem_of_error(&problem, error);
	/* A file that is not there is no failure, whoever has found that out. */
	if (problem_info(problem.kind)->status >= 500) {
		role_log_often(ROLE_ERROR, "engine.failed", visit->route->pattern,
			       "route=%s why=%s", visit->route->pattern, error->message);
	}
	visit_problem(visit, &problem);
}

void visit_engine(struct visit *visit, struct engine_call *call,
		  void (*end)(void *user, const char *data, size_t size))
{
	struct brig_error error = { 0 };

	call->tenant = visit->caller.tenant;
	call->caller = visit->caller.name; /* also who gives a person's consent, with call->proof */
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
			visit->caller.is_operator = visit->caller.token->is_operator;
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

/* White space around nothing, or around an object with nothing in it. */
static bool says_nothing(const char *body, size_t size)
{
	char seen[2];
	size_t count = 0;

	for (size_t i = 0; i < size; i++) {
		if (body[i] == '\0' || !strchr(" \t\r\n", body[i])) {
			if (count == 2) {
				return false;
			}
			seen[count++] = body[i];
		}
	}
	return count == 0 || (count == 2 && memcmp(seen, "{}", 2) == 0);
}

static int check_body(struct visit *visit, struct problem *problem)
{
	const struct http_exchange *exchange = visit->exchange;
	const struct route *route = visit->route;

	const char *name = NULL;
	size_t most = route_body_max(visit->front, route, &name);

	if (exchange->body_size > most) {
		return problem_set(problem,
				   route->body == ROUTE_NO_BODY ? PROBLEM_INVALID_REQUEST
								: PROBLEM_CONTENT_TOO_LARGE,
				   "the body has more than %zu bytes", most);
	}
	if (route->body == ROUTE_EMPTY && !says_nothing(exchange->body, exchange->body_size)) {
		problem_set(problem, PROBLEM_INVALID_REQUEST, "this call takes no fields");
		problem_remedy(problem, "send no body, or {}");
		return -EINVAL;
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
	visit->began_ns = clock_now_ns();
	if (role_log_wanted(ROLE_INFO) &&
	    asprintf(&visit->line, "%s %s", exchange->method, exchange->path) < 0) {
		visit->line = NULL;
	}
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
		visit->answered = 200;
		http_stream_end(exchange);
	}
	visit_free(visit);
}
