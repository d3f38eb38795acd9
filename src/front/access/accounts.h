/* SPDX-License-Identifier: Apache-2.0 */
/* Counts for a token, or for a local user: requests a minute, processor time a day. */
#ifndef BRIG_FRONT_ACCESS_ACCOUNTS_H
#define BRIG_FRONT_ACCESS_ACCOUNTS_H

#include <stdint.h>

#include "front/access/tokens.h"
#include "front/request/problem.h"

/* the operator chooses tokens and local users, so this is never reached */
#define ACCOUNTS_MAX 4096

struct account {
	struct account *next;
	char name[TOKEN_NAME_MAX + 1];
	unsigned running;
	unsigned tickets; /* that point here */
	double allowance; /* requests that may come now */
	uint64_t allowance_ns;
	int64_t day; /* since the epoch, UTC */
	uint64_t cpu_ns;
	/* from the token; 0: no limit */
	uint64_t rate_per_minute, concurrency, cpu_day_ns;
};

/* The account of that name; it is created if there is none. NULL: no memory. */
struct account *account_get(struct account **list, const char *name, const struct token *token);
struct account *account_find(struct account *list, const char *name);
void accounts_free(struct account *list);
/*
 * The tokens were read again. Accounts whose token stays keep their counts, under its new limits.
 */
void accounts_tokens(struct account **list, const struct tokens *tokens);
/* Counts one request. 0, or refused, with the problem. */
int account_rate(struct account *account, struct problem *problem);
/* 0, or refused: the day's processor time is used up. */
int account_quota(struct account *account, struct problem *problem);
void account_charge(struct account *account, uint64_t cpu_ns);
/* Sets the time that was used on a day before the service was restarted. */
void account_restore(struct account *account, int64_t day, uint64_t cpu_ns);
int64_t account_today(void);
#endif
