/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may come in by TCP: the operator's list of tokens. Only hashes are kept; a token has 256
 * random bits, so a plain hash of it cannot be searched.
 *
 *	{"tokens":[{"name":"ci","hash":"blake2b:<64 hex digits>","tenant":"ci",
 *	            "policies":["default","strict"],"limits":{"memory_bytes":268435456},
 *	            "rate_per_minute":600,"concurrency":4,"cpu_seconds_per_day":3600,
 *	            "expires":"2027-01-01T00:00:00Z","consent":true,"operator":true}]}
 *
 * All but name and hash may be left out: the tenant is then the name, and nothing is limited.
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
	uint64_t rate_per_minute;    /* 0: no limit; so with the next two */
	uint64_t concurrency;
	uint64_t cpu_seconds_per_day;
	time_t expires;   /* 0: never */
	bool consent;     /* may bring a person's consent, for policies that want one */
	bool is_operator; /* looks after the service: sees and ends what other tenants run */
};

struct tokens {
	struct token *items; /* owned */
	size_t count;
};

int tokens_parse(const char *text, size_t size, struct tokens *ret, struct brig_error *error);
void tokens_done(struct tokens *tokens);
/* All entries are compared, each in constant time. NULL: none, or it has expired. */
const struct token *tokens_find(const struct tokens *tokens, const char *presented, time_t now);
const struct token *tokens_named(const struct tokens *tokens, const char *name);
/* 0: may use it. */
int token_allows(const struct token *token, const char *policy, struct problem *problem);
/* Refuses what is asked for above a ceiling. */
int token_bound(const struct token *token, const struct brig_limits *limits,
		struct problem *problem);
#endif
