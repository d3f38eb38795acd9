/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The beginning of a request: from the HTTP exchange to a handler. Route and caller are looked up
 * once. For a request with a body that is before the body is read, and the request exists from then
 * on. If the tokens are replaced meanwhile, or its token expires, the caller is looked up again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/clock.h"
#include "front/request/request.h"
#include "front/request/upload.h"
#include "http/http_limits.h"
#include "role/log.h"

static void gone(void *user)
{
	struct request *request = user;

	request->exchange = NULL;
	if (request->left) {
		request->left(request);
	} else {
		request_free(request);
	}
}

/* application/json, and its parameters if any. */
static bool is_json(const char *type)
{
	size_t length = strlen("application/json");

	return type && strncasecmp(type, "application/json", length) == 0 &&
	       strchr(" ;", type[length]);
}

/* Only white space, or an empty object. */
static bool is_blank_body(const char *body, size_t size)
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

static int check_body(struct request *request, struct problem *problem)
{
	const struct http_exchange *exchange = request->exchange;
	const struct route *route = request->route;

	const char *name = NULL;
	size_t most = route_body_max(request->front, route, &name);

	if (exchange->body_size > most) {
		return problem_set(problem,
				   route->body == ROUTE_NO_BODY ? PROBLEM_INVALID_REQUEST
								: PROBLEM_CONTENT_TOO_LARGE,
				   "the body has more than %zu bytes", most);
	}
	if (route->body == ROUTE_EMPTY && !is_blank_body(exchange->body, exchange->body_size)) {
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

static bool is_open(const struct request *request)
{
	return request->route && request->route->open;
}

static enum problem_kind find_caller(struct request *request)
{
	return is_open(request)
		       ? PROBLEM_NONE
		       : auth_caller(&request->front->auth, request->exchange, &request->caller);
}

static enum problem_kind identify(struct request *request)
{
	const struct http_exchange *exchange = request->exchange;
	enum problem_kind kind = auth_check_origin(&request->front->auth, exchange);

	request->route =
		route_find(exchange->method, exchange->path, request->args, request->allowed);
	return kind == PROBLEM_NONE ? find_caller(request) : kind;
}

/* The same for a request that was admitted before its body came. */
static enum problem_kind identify_again(struct request *request)
{
	return request->caller.name[0] && !auth_expired(&request->caller) ? PROBLEM_NONE
									  : find_caller(request);
}

static int check_caller(struct request *request, bool admitted, struct problem *problem)
{
	enum problem_kind kind = admitted ? identify_again(request) : identify(request);

	if (kind == PROBLEM_NONE) {
		return 0;
	}
	front_audit_refusal(request->front, request->exchange, kind);
	return problem_set(problem, kind, "%s", "");
}

static int check_route(struct request *request, struct problem *problem)
{
	if (request->route) {
		return 0;
	}
	if (request->allowed[0]) {
		request_answer_header(request, "Allow", request->allowed);
		problem_set(problem, PROBLEM_METHOD_NOT_ALLOWED, "allowed here: %s",
			    request->allowed);
		return -EINVAL;
	}
	problem_set(problem, PROBLEM_NOT_FOUND, "there is no such path");
	problem_remedy(problem, "GET /openapi.json lists all paths");
	return -ENOENT;
}

static int check(struct request *request, bool admitted, struct problem *problem)
{
	struct front *front = request->front;
	struct http_exchange *exchange = request->exchange;
	int r = check_caller(request, admitted, problem);

	r = r < 0 ? r : check_route(request, problem);
	if (r < 0) {
		return r;
	}
	if (!exchange->budget && !is_open(request)) {
		exchange->budget = admission_budget(&front->admission, request->caller.tenant);
	}
	r = check_body(request, problem);
	return r == 0 && !is_open(request)
		       ? admission_rate(&front->admission, &request->caller, problem)
		       : r;
}

/* NULL: out of memory. */
static struct request *request_new(struct front *front, struct http_exchange *exchange)
{
	struct request *request = calloc(1, sizeof(*request));

	if (!request) {
		return NULL;
	}
	request->front = front;
	request->exchange = exchange;
	request->listener.user = request;
	list_prepend(&front->requests, &request->node);
	exchange->gone = gone;
	exchange->user = request;
	return request;
}

/* Without details, which a request without a body gets from request_begin(). */
static int refuse_to_admit(struct request *request, enum problem_kind kind)
{
	struct front *front = request->front;
	struct http_exchange *exchange = request->exchange;

	front_audit_refusal(front, exchange, kind);
	if (kind == PROBLEM_UNAUTHORIZED) {
		http_answer_header(exchange, "WWW-Authenticate", "Bearer");
	}
	front->counts.problems[kind]++;
	exchange->gone = NULL;
	request_free(request);
	return problem_info(kind)->status;
}

int request_admit(struct front *front, struct http_exchange *exchange, size_t *ret_limit)
{
	if (!http_header_find(exchange, "Content-Length") &&
	    !http_header_find(exchange, "Transfer-Encoding")) {
		return 0;
	}
	struct request *request = request_new(front, exchange);
	if (!request) {
		return 503;
	}
	enum problem_kind kind = identify(request);
	if (kind != PROBLEM_NONE) {
		return refuse_to_admit(request, kind);
	}
	if (request->caller.tenant[0]) {
		exchange->budget = admission_budget(&front->admission, request->caller.tenant);
	}
	size_t most = LIMIT_EMPTY_BODY; /* without a route it is refused later, with all details */
	if (request->route) {
		most = route_body_max(front, request->route, &exchange->limit);
		exchange->sink = upload_new(request->route->form,
					    http_header_find(exchange, "Idempotency-Key") != NULL);
	}
	*ret_limit = most < *ret_limit ? most : *ret_limit;
	return 0;
}

void request_begin(struct front *front, struct http_exchange *exchange)
{
	bool admitted = exchange->user != NULL;
	struct request *request = admitted ? exchange->user : request_new(front, exchange);
	struct problem problem = { 0 };

	if (!request) {
		http_answer_header(exchange, "Retry-After", "2");
		http_respond(exchange, 503, NULL, "", 0);
		return;
	}
	request->begun = true;
	request->began_ns = clock_now_ns();
	if (role_log_wanted(ROLE_INFO) &&
	    asprintf(&request->line, "%s %s", exchange->method, exchange->path) < 0) {
		request->line = NULL;
	}
	if (check(request, admitted, &problem) < 0) {
		request_answer_problem(request, &problem);
	} else {
		request->route->handle(request);
	}
}
