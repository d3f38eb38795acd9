/* SPDX-License-Identifier: Apache-2.0 */
/* The recent processor time of a tenant's cells: see engine_share.h. */
#include "engine/local/engine_share.h"

#define SPENT_MOST_NS UINT64_C(1000000000) /* the most that counts */

static unsigned at_least_one(unsigned count)
{
	return count ? count : 1;
}

uint64_t share_spent(const struct shares *shares, struct share *share, uint64_t now_ns)
{
	if (!share) {
		return 0;
	}
	uint64_t passed = now_ns > share->spent_at_ns ? now_ns - share->spent_at_ns : 0;
	/* Bounded before it is multiplied. */
	passed = passed < SPENT_MOST_NS * 1000 ? passed : SPENT_MOST_NS * 1000;
	uint64_t forgotten =
		passed * at_least_one(shares->cores) / (2u * at_least_one(shares->active));

	share->spent_ns = share->spent_ns > forgotten ? share->spent_ns - forgotten : 0;
	share->spent_at_ns = now_ns;
	return share->spent_ns;
}

void share_run_begins(struct shares *shares, struct share *share)
{
	if (share) {
		shares->active += share->runs++ == 0;
	}
}

void share_run_ends(struct shares *shares, struct share *share, uint64_t cpu_ns, uint64_t now_ns)
{
	if (!share) {
		return;
	}
	uint64_t spent_ns = share_spent(shares, share, now_ns);
	uint64_t room = SPENT_MOST_NS - spent_ns;

	share->spent_ns += cpu_ns < room ? cpu_ns : room;
	shares->active -= --share->runs == 0;
}
