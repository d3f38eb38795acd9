/* SPDX-License-Identifier: Apache-2.0 */
/* The time of the engine's thread, by tenant: see engine_share.h. */
#include "engine/local/engine_share.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SHARES_MAX 4096 /* tenants are defined by the operator */

struct share *shares_of(struct shares *shares, const char *tenant)
{
	for (struct share *it = shares->all; it; it = it->next) {
		if (strcmp(it->tenant, tenant) == 0) {
			return it;
		}
	}
	struct share *share = shares->count < SHARES_MAX ? calloc(1, sizeof(*share)) : NULL;
	if (!share || !(share->tenant = strdup(tenant))) {
		free(share);
		return NULL;
	}
	share->credit_ns = SHARE_BURST_NS;
	share->next = shares->all;
	shares->all = share;
	shares->count++;
	return share;
}

void shares_free(struct shares *shares)
{
	while (shares->all) {
		struct share *share = shares->all;
		shares->all = share->next;
		free(share->tenant);
		free(share);
	}
}

/* The time to pay a debt, as a multiple of the debt. */
static uint64_t slowness(const struct shares *shares)
{
	return (uint64_t)SHARE_DEBTORS * (shares->debtors ? shares->debtors : 1);
}

static void fill(const struct shares *shares, struct share *share, uint64_t now_ns)
{
	uint64_t passed = now_ns - share->at_ns;
	uint64_t part = share->credit_ns < 0 ? slowness(shares) : SHARE_FILLS;
	uint64_t room = (uint64_t)((int64_t)SHARE_BURST_NS - share->credit_ns);

	share->credit_ns += (int64_t)(passed / part < room ? passed / part : room);
	share->at_ns = now_ns;
}

uint64_t share_charge(struct shares *shares, struct share *share, uint64_t used_ns, uint64_t now_ns)
{
	if (!share) {
		return 0;
	}
	fill(shares, share, now_ns);
	share->credit_ns -= (int64_t)(used_ns < SHARE_DEBT_NS ? used_ns : SHARE_DEBT_NS);
	if (share->credit_ns < -(int64_t)SHARE_DEBT_NS) {
		share->credit_ns = -(int64_t)SHARE_DEBT_NS;
	}
	if (share->credit_ns >= 0) {
		return 0;
	}
	uint64_t wait = (uint64_t)-share->credit_ns * slowness(shares);
	wait = wait < SHARE_LEAST_NS ? SHARE_LEAST_NS : wait;
	return wait < SHARE_MOST_NS ? wait : SHARE_MOST_NS;
}

void share_wait(struct shares *shares, struct share *share)
{
	shares->debtors += share->waiting++ == 0;
}

void share_waited(struct shares *shares, struct share *share)
{
	shares->debtors -= --share->waiting == 0;
}

uint64_t share_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
