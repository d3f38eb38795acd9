/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who asks. By unix socket the kernel says it; by TCP a token does, in the Authorization header and
 * nowhere else. Names that a browser could be tricked into (DNS rebinding) are refused before that.
 */
#ifndef BRIG_FRONT_ACCESS_AUTH_H
#define BRIG_FRONT_ACCESS_AUTH_H

#include <sys/types.h>

#include "front/access/tokens.h"
#include "http/http.h"

#define TOKEN_TEXT_MAX 127

struct auth {
	struct tokens tokens;
	uid_t *uids; /* owned: who may use the unix socket besides root */
	size_t uids_count;
	uid_t *consent_uids; /* owned: of them, who may bring a person's consent */
	size_t consent_uids_count;
	uid_t owner;            /* the service's own user */
	struct strlist hosts;   /* besides the loopback's */
	struct strlist origins; /* besides those hosts' own */
};

struct caller {
	char tenant[TOKEN_NAME_MAX + 1];
	char name[TOKEN_NAME_MAX + 1];
	const struct token *token;          /* NULL: a local user */
	bool consent;                       /* may bring a person's consent... */
	char presented[TOKEN_TEXT_MAX + 1]; /* ...and shows this for it; "" for a local user */
	/* Looks after the service: root or its own user by unix socket, or a marked token. */
	bool is_operator;
};

void auth_done(struct auth *auth);
/* PROBLEM_NONE, or PROBLEM_FORBIDDEN: Host or Origin are not ours. */
enum problem_kind auth_place(const struct auth *auth, const struct http_exchange *exchange);
/* PROBLEM_NONE, or PROBLEM_UNAUTHORIZED, or PROBLEM_FORBIDDEN. */
enum problem_kind auth_caller(const struct auth *auth, const struct http_exchange *exchange,
			      struct caller *ret);
/* Is there still such a token, of the same tenant? Local users need none: always true. */
bool auth_stands(const struct auth *auth, const char *tenant, const char *name);
/*
 * For what was asked before a crash: the same caller again, by name. False: it may not ask any
 * more.
 */
bool auth_recall(const struct auth *auth, const char *tenant, const char *name, struct caller *ret);
#endif
