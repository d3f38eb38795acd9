/* SPDX-License-Identifier: Apache-2.0 */
/* The table of problems, and the mapping of brig's own errors to it. */
#include "front/request/problem.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/json/json_out.h"

#define RETRY_USUAL_S 2

static const struct problem_info table[PROBLEM_KINDS] = {
	[PROBLEM_NONE] = { "none", 500, "No problem", NULL },
	[PROBLEM_INVALID_JSON] = { "invalid_json", 400, "The body is not acceptable JSON", NULL },
	[PROBLEM_INVALID_REQUEST] = { "invalid_request", 400, "The request is invalid", NULL },
	[PROBLEM_UNSUPPORTED_LANGUAGE] = { "unsupported_language", 400,
					   "The language is not available", NULL },
	[PROBLEM_UNAUTHORIZED] = { "unauthorized", 401, "A valid token is required", NULL },
	[PROBLEM_FORBIDDEN] = { "forbidden", 403, "Not allowed", NULL },
	[PROBLEM_POLICY_NOT_ALLOWED] = { "policy_not_allowed", 403,
					 "The token may not use this policy", NULL },
	[PROBLEM_POLICY_FORBIDS] = { "policy_forbids", 403, "The policy forbids the request",
				     NULL },
	[PROBLEM_CONSENT_REQUIRED] = { "consent_required", 403,
				       "The policy requires a person's consent first", NULL },
	[PROBLEM_CONSENT_NOT_ALLOWED] = { "consent_not_allowed", 403,
					  "The caller may not give a person's consent", NULL },
	[PROBLEM_NOT_FOUND] = { "not_found", 404, "Not found", NULL },
	[PROBLEM_METHOD_NOT_ALLOWED] = { "method_not_allowed", 405,
					 "The method is not allowed here",
					 "GET /openapi.json lists all requests" },
	[PROBLEM_REQUEST_TIMEOUT] = { "request_timeout", 408, "The request came too slowly",
				      "send it in one go; the operator can set "
				      "http.head_timeout and http.body_timeout" },
	[PROBLEM_SESSION_BUSY] = { "session_busy", 409, "The session is busy", NULL },
	[PROBLEM_CANCELLED] = { "cancelled", 409, "It was cancelled before it ran", NULL },
	[PROBLEM_SESSION_GONE] = { "session_gone", 410, "The session is gone", NULL },
	[PROBLEM_CONTENT_TOO_LARGE] = { "content_too_large", 413, "The body is too large",
					"it must be smaller; the operator can raise "
					"the limit that is named" },
	[PROBLEM_UNSUPPORTED_MEDIA_TYPE] = { "unsupported_media_type", 415,
					     "The body must be application/json",
					     "send it with Content-Type: application/json" },
	[PROBLEM_IDEMPOTENCY_MISMATCH] = { "idempotency_mismatch", 422,
					   "The key was used for another request",
					   "give another request another key" },
	[PROBLEM_RATE_LIMITED] = { "rate_limited", 429, "Too many requests",
				   "wait for the time in Retry-After" },
	[PROBLEM_BYTES_LIMITED] = { "bytes_limited", 429, "Too many bytes are in progress",
				    "wait for the answers in progress, then send it again" },
	[PROBLEM_QUEUE_FULL] = { "queue_full", 429, "The queue is full",
				 "wait for the time in Retry-After; the operator can raise "
				 "runs.queue and runs.queue_per_tenant" },
	[PROBLEM_QUOTA_EXCEEDED] = { "quota_exceeded", 429, "The day's processor time is used up",
				     "wait for the time in Retry-After; the operator can raise the "
				     "token's processor time" },
	[PROBLEM_SESSION_LIMIT] = { "session_limit", 429, "Too many sessions",
				    "end sessions that are not used: DELETE /v1/sessions/ID; "
				    "the operator can raise sessions.max and "
				    "sessions.per_tenant" },
	[PROBLEM_HEAD_TOO_LARGE] = { "head_too_large", 431, "The request's head is too large",
				     "send fewer or shorter headers, or a shorter path" },
	[PROBLEM_INTERNAL] = { "internal", 500, "brig failed", NULL },
	[PROBLEM_HOST_UNABLE] = { "host_unable", 503,
				  "The host lacks a feature that the policy requires",
				  "use a policy that requires less; or, on the host, brig doctor "
				  "reports what is missing" },
	[PROBLEM_QUEUE_TIMEOUT] = { "queue_timeout", 503, "Timed out waiting in the queue",
				    "try again later, or queue it: POST /v1/executions does not "
				    "wait" },
	[PROBLEM_MEMORY_LOW] = { "memory_low", 503, "The host is low on memory",
				 "try again later, or with less at once; the operator "
				 "can set runs.memory_floor" },
	[PROBLEM_LEDGER_UNAVAILABLE] = { "ledger_unavailable", 503,
					 "The request cannot be recorded",
					 "try again later; the service's log has the error of its "
					 "ledger" },
	[PROBLEM_UNAVAILABLE] = { "unavailable", 503, "The service is not available now",
				  "try again later" },
};

const struct problem_info *problem_info(enum problem_kind kind)
{
	return &table[kind < PROBLEM_KINDS ? kind : PROBLEM_INTERNAL];
}

enum problem_kind problem_of_code(const char *code)
{
	for (size_t i = 1; i < PROBLEM_KINDS; i++) {
		if (strcmp(table[i].code, code) == 0) {
			return (enum problem_kind)i;
		}
	}
	return PROBLEM_INTERNAL;
}

enum problem_kind problem_of_status(int http_status)
{
	static const struct {
		int status;
		enum problem_kind kind;
	} own[] = {
		{ 401, PROBLEM_UNAUTHORIZED },
		{ 403, PROBLEM_FORBIDDEN },
		{ 404, PROBLEM_NOT_FOUND },
		{ 405, PROBLEM_METHOD_NOT_ALLOWED },
		{ 408, PROBLEM_REQUEST_TIMEOUT },
		{ 413, PROBLEM_CONTENT_TOO_LARGE },
		{ 415, PROBLEM_UNSUPPORTED_MEDIA_TYPE },
		{ 429, PROBLEM_BYTES_LIMITED },
		{ 431, PROBLEM_HEAD_TOO_LARGE },
		{ 503, PROBLEM_UNAVAILABLE },
	};

	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		if (own[i].status == http_status) {
			return own[i].kind;
		}
	}
	return http_status >= 500 ? PROBLEM_INTERNAL : PROBLEM_INVALID_REQUEST;
}

int problem_set(struct problem *problem, enum problem_kind kind, const char *format, ...)
{
	va_list args;

	problem->kind = kind;
	problem->retry_s = 0;
	problem->remedy[0] = '\0';
	va_start(args, format);
	vsnprintf(problem->detail, sizeof(problem->detail), format, args);
	va_end(args);
	return -EINVAL;
}

void problem_remedy(struct problem *problem, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(problem->remedy, sizeof(problem->remedy), format, args);
	va_end(args);
}

/* Absolute paths of the host are not disclosed; paths inside a cell are the caller's own. */
static bool is_of_cell(const char *path)
{
	return strncmp(path, "/sandbox", 8) == 0 || strncmp(path, "/mnt", 4) == 0;
}

static void copy_without_paths(char *to, size_t size, const char *from)
{
	size_t used = 0;
	char before = ' ';

	while (*from && used + 8 < size) {
		bool starts = *from == '/' && !strchr("./-_", before) &&
			      !((before | 32) >= 'a' && (before | 32) <= 'z') &&
			      !(before >= '0' && before <= '9');

		if (starts && from[1] && from[1] != ' ' && !is_of_cell(from)) {
			memcpy(to + used, "(path)", 6);
			used += 6;
			from += strcspn(from, " :,;\"'()");
			before = ')';
			continue;
		}
		before = *from;
		to[used++] = *from++;
	}
	to[used] = '\0';
}

struct mapping {
	enum brig_code code;
	int errnum; /* 0: any */
	enum problem_kind kind;
	const char *detail; /* NULL: the error's own message */
	const char *remedy; /* for this detail; NULL: the default of the kind */
};

#define ROOM "try again later; the administrator of the host must make room on its disks"

/* The first match counts. A shortage is the same for every source: there the code is any. */
static const struct mapping mappings[] = {
	{ BRIG_E_NONE, EMFILE, PROBLEM_UNAVAILABLE, "the service has too many open files",
	  "end sessions that are not used; the operator can raise its LimitNOFILE" },
	{ BRIG_E_NONE, ENFILE, PROBLEM_UNAVAILABLE, "the host has too many open files",
	  "try again later; the administrator of the host can raise fs.file-max" },
	{ BRIG_E_NONE, ENOMEM, PROBLEM_MEMORY_LOW, "there is not enough memory for it now", NULL },
	{ BRIG_E_INPUT, ENOENT, PROBLEM_NOT_FOUND, NULL, NULL },
	{ BRIG_E_INPUT, EBUSY, PROBLEM_SESSION_BUSY, NULL, NULL },
	{ BRIG_E_INPUT, ESTALE, PROBLEM_SESSION_GONE, NULL, NULL },
	{ BRIG_E_INPUT, EAGAIN, PROBLEM_SESSION_LIMIT, NULL, NULL },
	{ BRIG_E_INPUT, EDQUOT, PROBLEM_QUOTA_EXCEEDED, NULL, NULL },
	{ BRIG_E_INPUT, EXFULL, PROBLEM_QUEUE_FULL, NULL, NULL },
	{ BRIG_E_HOST, ETIME, PROBLEM_QUEUE_TIMEOUT, NULL, NULL },
	{ BRIG_E_HOST, ESHUTDOWN, PROBLEM_UNAVAILABLE, NULL, NULL },
	{ BRIG_E_INPUT, EFBIG, PROBLEM_CONTENT_TOO_LARGE, NULL, NULL },
	{ BRIG_E_INPUT, 0, PROBLEM_INVALID_REQUEST, NULL, NULL },
	{ BRIG_E_POLICY, EACCES, PROBLEM_POLICY_FORBIDS, NULL, NULL },
	{ BRIG_E_POLICY, EPERM, PROBLEM_POLICY_FORBIDS, NULL, NULL },
	{ BRIG_E_POLICY, 0, PROBLEM_INVALID_REQUEST, NULL, NULL },
	{ BRIG_E_RUNTIME, 0, PROBLEM_UNSUPPORTED_LANGUAGE, NULL, NULL },
	{ BRIG_E_HOST, 0, PROBLEM_HOST_UNABLE,
	  "this host lacks a layer of isolation that the policy requires", NULL },
	{ BRIG_E_CONSENT, 0, PROBLEM_CONSENT_REQUIRED, NULL, NULL },
	{ BRIG_E_SYSTEM, ENOTRECOVERABLE, PROBLEM_LEDGER_UNAVAILABLE,
	  "the request cannot be recorded, so it was not carried out", NULL },
	{ BRIG_E_SYSTEM, ENOENT, PROBLEM_NOT_FOUND, "not found", NULL },
	{ BRIG_E_SYSTEM, EAGAIN, PROBLEM_UNAVAILABLE, "the host has too many processes",
	  "try again later; the operator can raise its TasksMax" },
	{ BRIG_E_SYSTEM, ENOSPC, PROBLEM_UNAVAILABLE, "the host has no room left", ROOM },
	{ BRIG_E_SYSTEM, EDQUOT, PROBLEM_UNAVAILABLE, "the host has no room left", ROOM },
	{ BRIG_E_SYSTEM, EUSERS, PROBLEM_UNAVAILABLE, "the host has no room left",
	  "try again later; the administrator of the host can raise user.max_user_namespaces" },
	{ BRIG_E_SYSTEM, ENOBUFS, PROBLEM_UNAVAILABLE, "the service is overloaded", NULL },
	{ BRIG_E_SYSTEM, EPIPE, PROBLEM_UNAVAILABLE, "the service is restarting", NULL },
	{ BRIG_E_SYSTEM, ECONNRESET, PROBLEM_UNAVAILABLE, "the service is restarting", NULL },
};

void problem_of_error(struct problem *problem, const struct brig_error *error)
{
	const struct mapping *found = NULL;

	for (size_t i = 0; !found && i < ARRAY_SIZE(mappings); i++) {
		if ((mappings[i].code == BRIG_E_NONE || mappings[i].code == error->code) &&
		    (mappings[i].errnum == 0 || mappings[i].errnum == error->errnum)) {
			found = &mappings[i];
		}
	}
	if (!found) {
		problem_set(problem, PROBLEM_INTERNAL,
			    "internal error; the service's log has the reason");
		return;
	}
	problem_set(problem, found->kind, "%s", found->detail ? found->detail : "");
	if (found->remedy) {
		problem_remedy(problem, "%s", found->remedy);
	}
	if (!found->detail) {
		copy_without_paths(problem->detail, sizeof(problem->detail), error->message);
		copy_without_paths(problem->remedy, sizeof(problem->remedy), error->remedy);
	}
	problem_retry(problem);
}

/* Every client is told when to try again. */
void problem_retry(struct problem *problem)
{
	int status = problem_info(problem->kind)->status;

	if ((status == 503 || status == 429) && problem->retry_s == 0) {
		problem->retry_s = RETRY_USUAL_S;
	}
}

void problem_to_error(const struct problem *problem, struct brig_error *error)
{
	static const struct {
		enum problem_kind kind;
		enum brig_code code;
		int errnum;
	} back[] = {
		{ PROBLEM_UNSUPPORTED_LANGUAGE, BRIG_E_RUNTIME, ENOENT },
		{ PROBLEM_POLICY_NOT_ALLOWED, BRIG_E_POLICY, EACCES },
		{ PROBLEM_POLICY_FORBIDS, BRIG_E_POLICY, EACCES },
		{ PROBLEM_CONSENT_REQUIRED, BRIG_E_CONSENT, EACCES },
		{ PROBLEM_CONSENT_NOT_ALLOWED, BRIG_E_CONSENT, EPERM },
		{ PROBLEM_NOT_FOUND, BRIG_E_INPUT, ENOENT },
		{ PROBLEM_SESSION_BUSY, BRIG_E_INPUT, EBUSY },
		{ PROBLEM_SESSION_GONE, BRIG_E_INPUT, ESTALE },
		{ PROBLEM_CANCELLED, BRIG_E_INPUT, ECANCELED },
		{ PROBLEM_RATE_LIMITED, BRIG_E_INPUT, EAGAIN },
		{ PROBLEM_BYTES_LIMITED, BRIG_E_INPUT, EAGAIN },
		{ PROBLEM_QUEUE_FULL, BRIG_E_INPUT, EXFULL },
		{ PROBLEM_QUOTA_EXCEEDED, BRIG_E_INPUT, EDQUOT },
		{ PROBLEM_QUEUE_TIMEOUT, BRIG_E_HOST, ETIME },
		{ PROBLEM_UNAVAILABLE, BRIG_E_HOST, ESHUTDOWN },
		{ PROBLEM_SESSION_LIMIT, BRIG_E_INPUT, EAGAIN },
	};
	enum brig_code code =
		problem_info(problem->kind)->status < 500 ? BRIG_E_INPUT : BRIG_E_HOST;
	int errnum = EINVAL;

	for (size_t i = 0; i < ARRAY_SIZE(back); i++) {
		if (back[i].kind == problem->kind) {
			code = back[i].code;
			errnum = back[i].errnum;
		}
	}
	error_set(error, code, errnum, "%s",
		  problem->detail[0] ? problem->detail : problem_info(problem->kind)->title);
	if (problem->remedy[0]) {
		error_remedy(error, "%s", problem->remedy);
	} else if (problem->retry_s) {
		error_remedy(error, "try again in %u seconds", problem->retry_s);
	} else if (problem_info(problem->kind)->remedy) {
		error_remedy(error, "%s", problem_info(problem->kind)->remedy);
	}
}

void problem_write(const struct problem *problem, struct buf *out)
{
	const struct problem_info *info = problem_info(problem->kind);
	struct json_out json = { .buf = out };
	char type[96];

	snprintf(type, sizeof(type), "urn:brig:problem:%s", info->code);
	json_open(&json, NULL, '{');
	json_text(&json, "type", type);
	json_text(&json, "title", info->title);
	json_int(&json, "status", info->status);
	json_text(&json, "detail", problem->detail[0] ? problem->detail : info->title);
	json_text(&json, "code", info->code);
	json_text(&json, "remedy", problem->remedy[0] ? problem->remedy : info->remedy);
	json_close(&json, '}');
}
