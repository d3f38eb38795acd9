/* SPDX-License-Identifier: Apache-2.0 */
/* The time for returned files: see return_time.h. */
#include "agent_link/return_time.h"

#include "agent_link/returned.h"

#define SECOND_NS 1000000000ull

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/*
 * As long as the bytes take that the disk may have, at the lowest rate; but not longer than the
 * program itself was allowed to take.
 */
uint64_t return_time_most(const struct brig_limits *limits, uint64_t rate)
{
	uint64_t seconds =
		limits->disk_bytes / rate + limits->disk_inodes / (rate / RETURNED_ENTRY_BYTES) + 1;
	uint64_t most = least(RETURN_MOST_NS, limits->wall_ns);

	return RETURN_PERIOD_NS + least(most, least(seconds, RETURN_MOST_NS) * SECOND_NS);
}

void return_time_begin(struct return_time *time, const struct brig_limits *limits, uint64_t rate,
		       uint64_t now_ns)
{
	*time = (struct return_time){ .end_ns = now_ns + return_time_most(limits, rate),
				      .period_ns = now_ns + RETURN_PERIOD_NS,
				      .least = RETURN_PERIOD_SECONDS * rate };
}

uint64_t return_time_next(struct return_time *time, uint64_t received, uint64_t now_ns)
{
	if (now_ns >= time->end_ns) {
		return 0;
	}
	if (now_ns >= time->period_ns) {
		if (received - time->bytes < time->least) {
			return 0;
		}
		time->bytes = received;
		time->period_ns = now_ns + RETURN_PERIOD_NS;
	}
	return least(time->period_ns, time->end_ns);
}
