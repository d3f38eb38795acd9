/* SPDX-License-Identifier: Apache-2.0 */
/* Requests: from a handler to an answer. request_begin.c is the way to the handler. */
#include "front/request/request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "base/json/json_out.h"
#include "role/log.h"

/* One log line for each request, at level info. */
static void log_access(const struct request *request)
{
	if (request->line) {
		role_log(ROLE_INFO, "request", "request=%s status=%d caller=%s tenant=%s ms=%llu",
			 request->line, request->answered,
			 request->caller.name[0] ? request->caller.name : NULL,
			 request->caller.tenant[0] ? request->caller.tenant : NULL,
			 (unsigned long long)((clock_now_ns() - request->began_ns) / 1000000));
	}
}

void request_free(struct request *request)
{
	struct front *front = request->front;

	log_access(request);

	if (request->closed) {
		request->closed(request);
	}
	if (request->run) {
		engine_forget(request->run);
	}
	execution_unlisten(&request->listener);
	list_remove(&front->requests, &request->node);
	for (size_t i = 0; i < ROUTE_ARGS; i++) {
		free(request->args[i]);
	}
	free(request->line);
	free(request);
}

void request_answer_header(struct request *request, const char *name, const char *value)
{
	if (request->exchange) {
		http_answer_header(request->exchange, name, value);
	}
}

const char *request_header(const struct request *request, const char *header)
{
	return request->exchange ? http_header_find(request->exchange, header) : NULL;
}

bool request_accepts(const struct request *request, const char *type)
{
	const char *accept = request_header(request, "Accept");

	return accept && strcasestr(accept, type) != NULL;
}

/* The exchange, if it can be answered: the request does not own it any more. */
static struct http_exchange *let_go(struct request *request, int status)
{
	struct http_exchange *exchange = request->exchange;

	if (!exchange) {
		return NULL;
	}
	request->front->counts.answers[status / 100 % 6]++;
	request->answered = status;
	http_answer_header(exchange, "X-Content-Type-Options", "nosniff");
	http_answer_header(exchange, "Cache-Control", "no-store");
	exchange->gone = NULL;
	exchange->drained = NULL;
	request->exchange = NULL;
	if (http_streaming(exchange)) {
		http_cut(exchange);
		return NULL;
	}
	return exchange;
}

void request_answer(struct request *request, int status, const char *type, const void *data,
		    size_t size)
{
	struct http_exchange *exchange = let_go(request, status);

	if (exchange) {
		http_respond(exchange, status, type, data, size);
	}
	request_free(request);
}

void request_answer_rope(struct request *request, int status, const char *type, struct rope *text)
{
	struct http_exchange *exchange = let_go(request, status);

	if (exchange) {
		http_respond_rope(exchange, status, type, text);
	}
	rope_done(text);
	request_free(request);
}

void request_answer_json(struct request *request, int status, const char *json, size_t size)
{
	request_answer(request, status, "application/json", json, size);
}

void request_answer_empty(struct request *request, int status)
{
	request_answer(request, status, NULL, "", 0);
}

void request_answer_problem(struct request *request, const struct problem *problem)
{
	struct problem answered_problem = *problem;
	struct buf text = { 0 };
	char retry[16];

	problem_retry(&answered_problem);
	problem_write(problem, &text);
	request->front->counts.problems[problem->kind]++;
	if (answered_problem.retry_s) {
		snprintf(retry, sizeof(retry), "%u", answered_problem.retry_s);
		request_answer_header(request, "Retry-After", retry);
	}
	if (problem->kind == PROBLEM_UNAUTHORIZED) {
		request_answer_header(request, "WWW-Authenticate", "Bearer");
	}
	request_answer(request, problem_info(problem->kind)->status, "application/problem+json",
		       text.data ? text.data : "{}", text.data ? text.size : 2);
	buf_done(&text);
}

void request_refuse(struct request *request, enum problem_kind kind, const char *detail)
{
	struct problem problem = { 0 };

	problem_set(&problem, kind, "%s", detail ? detail : "");
	request_answer_problem(request, &problem);
}

const char *request_tenant_scope(const struct request *request)
{
	return request->caller.is_operator ? LEDGER_ANY_TENANT : request->caller.tenant;
}

void request_audit_other(struct request *request, const char *kind, const char *tenant,
			 const char *id)
{
	struct buf facts = { 0 };
	struct json_out json = { .buf = &facts };

	if (strcmp(tenant, request->caller.tenant) == 0) {
		return;
	}
	json_open(&json, NULL, '{');
	json_text(&json, "caller", request->caller.name);
	json_text(&json, "execution", id);
	json_close(&json, '}');
	ledger_audit(request->front->ledger, kind, tenant, facts.data ? facts.data : "{}", NULL,
		     NULL);
	buf_done(&facts);
}

/* --- calling the engine ---------------------------------------------------------------------- */

static void audit(struct request *request, const char *data, size_t size)
{
	struct buf facts = { 0 };
	struct json_out json = { .buf = &facts };
	json_t *answer = json_loadb(data, size, 0, NULL);
	const char *id = json_string_value(json_object_get(answer, "id"));

	json_open(&json, NULL, '{');
	json_text(&json, "caller", request->caller.name);
	json_text(&json, "session", id ? id : request->args[0]);
	if (request->args[1]) {
		json_text(&json, "file", request->args[1]);
	}
	json_close(&json, '}');
	ledger_audit(request->front->ledger, request->audit, request->caller.tenant,
		     facts.data ? facts.data : "{}", NULL, NULL);
	json_decref(answer);
	buf_done(&facts);
}

static void engine_end(void *user, const char *data, size_t size)
{
	struct request *request = user;

	request->run = NULL;
	if (request->audit) {
		audit(request, data, size);
	}
	if (request->status == 204) {
		request_answer_empty(request, 204);
	} else {
		request_answer_json(request, request->status ? request->status : 200, data, size);
	}
}

static void engine_fail(void *user, const struct brig_error *error)
{
	struct request *request = user;
	struct problem problem = { 0 };

	request->run = NULL;
	problem_of_error(&problem, error);
	/* A file that is not found is no failure of the engine. */
	if (problem_info(problem.kind)->status >= 500) {
		role_log_often(ROLE_ERROR, "engine.failed", request->route->pattern,
			       "route=%s why=%s", request->route->pattern, error->message);
	}
	request_answer_problem(request, &problem);
}

void request_call_engine(struct request *request, struct engine_call *call,
			 void (*end)(void *user, const char *data, size_t size))
{
	struct brig_error error = { 0 };

	call->tenant = request->caller.tenant;
	call->caller =
		/* also the caller that passes on a person's consent, with call->proof */
		request->caller.name;
	call->run.tenant = request->caller.tenant;
	call->end = end ? end : engine_end;
	call->fail = engine_fail;
	call->user = request;
	if (engine_start(request->front->engine, call, &request->run, &error) < 0) {
		request->run = NULL;
		engine_fail(request, &error);
	}
}

/* --- revoked tokens --------------------------------------------------------------------------- */

static bool is_revoked(const struct request *request)
{
	return request->caller.token &&
	       !auth_is_valid(&request->front->auth, request->caller.tenant, request->caller.name);
}

/* The end of one may free others: start from the beginning each time. */
static struct request *find_revoked(const struct front *front)
{
	LIST_EACH(struct request, request, &front->requests, node) {
		if (is_revoked(request)) {
			return request;
		}
	}
	return NULL;
}

void requests_revoke(struct front *front)
{
	struct request *request;

	LIST_EACH(struct request, kept, &front->requests, node) {
		if (!kept->begun) {
			kept->caller = (struct caller){ 0 }; /* looked up again with the body */
		} else if (kept->caller.token && !is_revoked(kept)) {
			kept->caller.token = tokens_named(&front->auth.tokens, kept->caller.name);
			kept->caller.is_operator = kept->caller.token->is_operator;
		}
	}
	while ((request = find_revoked(front)) != NULL) {
		request_refuse(request, PROBLEM_UNAUTHORIZED, "the token is not valid any more");
	}
}

void request_end_stream(struct request *request)
{
	struct http_exchange *exchange = request->exchange;

	if (exchange) {
		exchange->gone = NULL;
		exchange->drained = NULL;
		request->exchange = NULL;
		request->answered = 200;
		http_stream_end(exchange);
	}
	request_free(request);
}
