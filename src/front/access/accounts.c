/* SPDX-License-Identifier: Apache-2.0 */
/* Accounts: see accounts.h. */
#include "front/access/accounts.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

#define DAY_S 86400

static void set_limits(struct account *account, const struct token *token)
{
	if (token) {
		account->rate_per_minute = token->rate_per_minute;
		account->concurrency = token->concurrency;
		account->cpu_day_ns = token->cpu_seconds_per_day * UINT64_C(1000000000);
	}
}

struct account *account_find(struct account *list, const char *name)
{
	while (list && strcmp(list->name, name) != 0) {
		list = list->next;
	}
	return list;
}

static unsigned count_accounts(const struct account *list)
{
	unsigned count = 0;

	for (; list; list = list->next) {
		count++;
	}
	return count;
}

struct account *account_get(struct account **list, const char *name, const struct token *token)
{
	struct account *account = account_find(*list, name);

	if (account || strlen(name) >= sizeof(account->name) ||
	    count_accounts(*list) >= ACCOUNTS_MAX) {
		return account;
	}
	account = calloc(1, sizeof(*account));
	if (!account) {
		return NULL;
	}
	memcpy(account->name, name, strlen(name) + 1);
	set_limits(account, token);
	account->allowance = (double)account->rate_per_minute;
	account->allowance_ns = clock_now_ns();
	account->next = *list;
	*list = account;
	return account;
}

void accounts_free(struct account *list)
{
	while (list) {
		struct account *account = list;

		list = account->next;
		free(account);
	}
}

void accounts_tokens(struct account **list, const struct tokens *tokens)
{
	for (struct account **at = list; *at;) {
		struct account *account = *at;
		const struct token *token = tokens_named(tokens, account->name);
		bool is_user = strncmp(account->name, "uid:", 4) == 0;

		if (!token && !is_user && account->tickets == 0) {
			*at = account->next;
			free(account);
			continue;
		}
		/* An account without a rate until now begins with a full bucket. */
		if (token && account->rate_per_minute == 0) {
			account->allowance = (double)token->rate_per_minute;
			account->allowance_ns = clock_now_ns();
		}
		set_limits(account, token);
		at = &account->next;
	}
}

/* A bucket that holds a minute's worth. */
int account_rate(struct account *account, struct problem *problem)
{
	double rate = (double)account->rate_per_minute / 60e9;
	uint64_t now = clock_now_ns();

	if (account->rate_per_minute == 0) {
		return 0;
	}
	account->allowance += (double)(now - account->allowance_ns) * rate;
	account->allowance_ns = now;
	if (account->allowance > (double)account->rate_per_minute) {
		account->allowance = (double)account->rate_per_minute;
	}
	if (account->allowance < 1) {
		problem_set(problem, PROBLEM_RATE_LIMITED, "at most %llu requests a minute",
			    (unsigned long long)account->rate_per_minute);
		problem->retry_s = (unsigned)ceil((1 - account->allowance) / rate / 1e9);
		return -EAGAIN;
	}
	account->allowance -= 1;
	return 0;
}

int64_t account_today(void)
{
	return time(NULL) / DAY_S;
}

/* A new day begins with no time used. */
static void turn_day(struct account *account)
{
	int64_t today = account_today();

	if (account->day != today) {
		account->day = today;
		account->cpu_ns = 0;
	}
}

void account_charge(struct account *account, uint64_t cpu_ns)
{
	turn_day(account);
	account->cpu_ns += cpu_ns;
}

void account_restore(struct account *account, int64_t day, uint64_t cpu_ns)
{
	turn_day(account);
	if (account->day == day) {
		account->cpu_ns += cpu_ns;
	}
}

int account_quota(struct account *account, struct problem *problem)
{
	turn_day(account);
	if (account->cpu_day_ns == 0 || account->cpu_ns < account->cpu_day_ns) {
		return 0;
	}
	problem_set(problem, PROBLEM_QUOTA_EXCEEDED,
		    "the %llu s of processor time for a day are used up",
		    (unsigned long long)(account->cpu_day_ns / 1000000000));
	problem->retry_s = (unsigned)(DAY_S - time(NULL) % DAY_S);
	return -EDQUOT;
}
