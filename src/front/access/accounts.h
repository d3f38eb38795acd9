/* SPDX-License-Identifier: Apache-2.0 */
/* What is counted for a token, or for a local user: requests a minute, processor time a day. */
#ifndef BRIG_FRONT_ACCESS_ACCOUNTS_H
#define BRIG_FRONT_ACCESS_ACCOUNTS_H

#include <stdint.h>

#include "front/access/tokens.h"
#include "front/request/problem.h"

#define ACCOUNTS_MAX 4096 /* tokens and local users are the operator's, so this is never met */

struct account {
	struct account *next;
	char name[TOKEN_NAME_MAX + 1];
	unsigned running;
	unsigned tickets; /* that point here */
	double allowance; /* requests that may come now */
	uint64_t allowance_ns;
	int64_t day; /* since the epoch, UTC */
	uint64_t cpu_ns;
	/* as the token says; 0: no limit */
	uint64_t rate_per_minute, concurrency, cpu_day_ns;
};

/* The one of that name, made when there is none; NULL: no memory. */
struct account *account_get(struct account **list, const char *name, const struct token *token);
struct account *account_find(struct account *list, const char *name);
void accounts_free(struct account *list);
/* Other tokens: those that stay keep their counts, under what is said of them now. */
void accounts_tokens(struct account **list, const struct tokens *tokens);
/* Counts one request. 0, or refused with the problem. */
int account_rate(struct account *account, struct problem *problem);
/* 0, or refused: the day's processor time is used up. */
int account_quota(struct account *account, struct problem *problem);
void account_charge(struct account *account, uint64_t cpu_ns);
/* What was used on a day in an earlier life of the service. */
void account_restore(struct account *account, int64_t day, uint64_t cpu_ns);
int64_t account_today(void);
#endif
