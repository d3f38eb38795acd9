/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for a cell that is made ahead, as long as that is sensible. See warm.h. */
#include <errno.h>
#include <poll.h>

#include "base/clock.h"
#include "lib/warm/warm.h"

/*
 * The time that a request waits if it requires a warm cell; and that any other request waits while
 * cells are being made. A cold start would take as long, and slow those down.
 */
#define WAIT_NS       20000000000ull
#define SHORT_WAIT_NS 40000000ull

static int wait_for(struct warm_pool *pool, unsigned cells, uint64_t wait_ns,
		    struct brig_error *err)
{
	uint64_t deadline = clock_now_ns() + wait_ns;

	pool->target = pool->target < cells ? cells : pool->target;
	pool->used_ns = clock_now_ns();
	while (warm_pool_ready(pool) < cells) {
		struct pollfd ready = { .fd = pool->warm->epoll, .events = POLLIN };
		uint64_t now = clock_now_ns();
		warm_step(pool->warm, WARM_ALL_PIECES);
		if (pool->rest_until_ns > now || now > deadline ||
		    warm_size_target(pool, now) < cells) {
			return error_set(err, BRIG_E_SYSTEM, EAGAIN,
					 "no cell could be made ahead; see brig doctor");
		}
		if (warm_pool_ready(pool) < cells) {
			poll(&ready, 1, wait_ns < 100000000u ? (int)(wait_ns / 1000000u) : 100);
		}
	}
	return 0;
}

int warm_pool_wait(struct warm_pool *pool, unsigned cells, struct brig_error *err)
{
	return wait_for(pool, cells, WAIT_NS, err);
}

bool warm_pool_await(struct warm_pool *pool, enum brig_start start, bool hurried)
{
	struct brig_error unused = { 0 };

	if (hurried) {
		/* The caller waits in its own event loop. */
	} else if (start == BRIG_START_WARM) {
		(void)wait_for(pool, 1, WAIT_NS, &unused);
	} else if (!warm_pool_ready(pool) && warm_pool_making(pool)) {
		(void)wait_for(pool, 1, SHORT_WAIT_NS, &unused);
	}
	bool hit = warm_pool_ready(pool) > 0;
	warm_size_asked(pool, hit);
	return hit;
}

int warm_pool_pinned(const struct warm_pool *pool)
{
	return pool->template ? pool->template->pinned : -EOPNOTSUPP;
}
