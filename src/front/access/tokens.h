/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operator's list of tokens, for callers over TCP. Only hashes are stored; a token has 256
 * random bits, so a plain hash of it cannot be searched.
 *
 *	{"tokens":[{"name":"ci","hash":"blake2b:<64 hex digits>","tenant":"ci",
 *	            "policies":["default","strict"],"limits":{"memory_bytes":268435456},
 *	            "rate_per_minute":600,"concurrency":4,"cpu_seconds_per_day":3600,
 *	            "expires":"2027-01-01T00:00:00Z","consent":true,"operator":true}]}
 *
 * Only name and hash are required. The default tenant is the name; by default there are no limits.
 */
#ifndef BRIG_FRONT_ACCESS_TOKENS_H
#define BRIG_FRONT_ACCESS_TOKENS_H

#include <time.h>

#include "base/strlist.h"
#include "front/request/problem.h"

#define TOKEN_NAME_MAX 64
#define TOKENS_MAX     1024

struct token {
	char name[TOKEN_NAME_MAX + 1];
	char tenant[TOKEN_NAME_MAX + 1];
	unsigned char hash[32];
	struct strlist policies;     /* empty: all */
	struct brig_limits ceilings; /* 0: none */
	uint64_t rate_per_minute;    /* 0: no limit; the same for the next two */
	uint64_t concurrency;
	uint64_t cpu_seconds_per_day;
	time_t expires;   /* 0: never */
	bool consent;     /* may pass on a person's consent, for policies that require one */
	bool is_operator; /* operates the service: sees and ends other tenants' executions */
};

struct tokens {
	struct token *items; /* owned */
	size_t count;
};

int tokens_parse(const char *text, size_t size, struct tokens *ret, struct brig_error *error);
void tokens_done(struct tokens *tokens);
/* All entries are compared, each in constant time. NULL: none, or it has expired. */
const struct token *tokens_find(const struct tokens *tokens, const char *presented, time_t now);
bool token_expired(const struct token *token, time_t now);
const struct token *tokens_named(const struct tokens *tokens, const char *name);
/* 0: the token may use the policy. */
int token_allows(const struct token *token, const char *policy, struct problem *problem);
/* Refuses limits above the token's ceilings. */
int token_bound(const struct token *token, const struct brig_limits *limits,
		struct problem *problem);
#endif
