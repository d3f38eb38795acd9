/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identifies the caller. On the unix socket the kernel reports the user; over TCP a token does, in
 * the Authorization header and nowhere else. Host names that a browser could be tricked into using
 * (DNS rebinding) are refused first.
 */
#ifndef BRIG_FRONT_ACCESS_AUTH_H
#define BRIG_FRONT_ACCESS_AUTH_H

#include <sys/types.h>

#include "front/access/tokens.h"
#include "http/http.h"

#define TOKEN_TEXT_MAX 127

struct auth {
	struct tokens tokens;
	uid_t *uids; /* owned: users that may use the unix socket, besides root */
	size_t uids_count;
	uid_t *consent_uids; /* owned: those of them that may pass on a person's consent */
	size_t consent_uids_count;
	uid_t owner;            /* the service's own user */
	struct strlist hosts;   /* allowed besides the loopback names */
	struct strlist origins; /* allowed besides those hosts */
};

struct caller {
	char tenant[TOKEN_NAME_MAX + 1];
	char name[TOKEN_NAME_MAX + 1];
	const struct token *token;          /* NULL: a local user */
	bool consent;                       /* may pass on a person's consent... */
	char presented[TOKEN_TEXT_MAX + 1]; /* ...with this token as proof; "" for a local user */
	/*
	 * Operates the service: root or its own user on the unix socket, or a token marked as
	 * operator.
	 */
	bool is_operator;
};

void auth_done(struct auth *auth);
/* PROBLEM_NONE, or PROBLEM_FORBIDDEN: Host or Origin is not allowed. */
enum problem_kind auth_check_origin(const struct auth *auth, const struct http_exchange *exchange);
/* PROBLEM_NONE, or PROBLEM_UNAUTHORIZED, or PROBLEM_FORBIDDEN. */
enum problem_kind auth_caller(const struct auth *auth, const struct http_exchange *exchange,
			      struct caller *ret);
/* The token that the caller was identified by has expired since. */
bool auth_expired(const struct caller *caller);
/* Does the token still exist, with the same tenant? Local users need none: always true. */
bool auth_is_valid(const struct auth *auth, const char *tenant, const char *name);
/* The caller of a request from before a crash, by name. False: it is not allowed any more. */
bool auth_recall(const struct auth *auth, const char *tenant, const char *name, struct caller *ret);
#endif
