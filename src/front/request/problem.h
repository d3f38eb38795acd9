/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers for requests that failed (RFC 9457, application/problem+json). The codes are stable:
 * clients may depend on them. They contain no details of the host: no paths, no addresses.
 */
#ifndef BRIG_FRONT_REQUEST_PROBLEM_H
#define BRIG_FRONT_REQUEST_PROBLEM_H

#include <brig/brig.h>

#include "base/bytes/buf.h"

enum problem_kind {
	PROBLEM_NONE = 0,
	PROBLEM_INVALID_JSON,
	PROBLEM_INVALID_REQUEST,
	PROBLEM_UNSUPPORTED_LANGUAGE,
	PROBLEM_UNAUTHORIZED,
	PROBLEM_FORBIDDEN,
	PROBLEM_POLICY_NOT_ALLOWED,
	PROBLEM_POLICY_FORBIDS,
	PROBLEM_CONSENT_REQUIRED,
	PROBLEM_CONSENT_NOT_ALLOWED,
	PROBLEM_NOT_FOUND,
	PROBLEM_METHOD_NOT_ALLOWED,
	PROBLEM_REQUEST_TIMEOUT,
	PROBLEM_SESSION_BUSY,
	PROBLEM_CANCELLED,
	PROBLEM_SESSION_GONE,
	PROBLEM_CONTENT_TOO_LARGE,
	PROBLEM_UNSUPPORTED_MEDIA_TYPE,
	PROBLEM_IDEMPOTENCY_MISMATCH,
	PROBLEM_RATE_LIMITED,
	PROBLEM_BYTES_LIMITED,
	PROBLEM_QUEUE_FULL,
	PROBLEM_QUOTA_EXCEEDED,
	PROBLEM_SESSION_LIMIT,
	PROBLEM_HEAD_TOO_LARGE,
	PROBLEM_INTERNAL,
	PROBLEM_HOST_UNABLE,
	PROBLEM_QUEUE_TIMEOUT,
	PROBLEM_MEMORY_LOW,
	PROBLEM_LEDGER_UNAVAILABLE,
	PROBLEM_UNAVAILABLE,
	PROBLEM_KINDS,
};

struct problem_info {
	const char *code;
	int status;
	const char *title;
	const char *remedy; /* the default; NULL: there is none */
};

struct problem {
	enum problem_kind kind;
	unsigned retry_s; /* for Retry-After; 0: none */
	char detail[512];
	char remedy[512];
};

const struct problem_info *problem_info(enum problem_kind kind);
enum problem_kind problem_of_code(const char *code);  /* PROBLEM_INTERNAL: not found */
enum problem_kind problem_of_status(int http_status); /* for refusals of the HTTP layer */

/* Returns -EINVAL: `return problem_set(...)`. */
int problem_set(struct problem *problem, enum problem_kind kind, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void problem_remedy(struct problem *problem, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* An error of an engine or a ledger, in words that reveal nothing about the host. */
void problem_of_error(struct problem *problem, const struct brig_error *error);

/* Sets a time for Retry-After, if trying again makes sense and none is set. */
void problem_retry(struct problem *problem);
/* The reverse, for callers that use engine.h. */
void problem_to_error(const struct problem *problem, struct brig_error *error);
void problem_write(const struct problem *problem, struct buf *out);
#endif
