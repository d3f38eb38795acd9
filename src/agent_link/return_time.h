/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long an agent may take to return files. The agent may be the program's: bytes that came fast
 * buy no time for later, and the limits of the run bound the whole.
 */
#ifndef BRIG_AGENT_LINK_RETURN_TIME_H
#define BRIG_AGENT_LINK_RETURN_TIME_H

#include <stdint.h>

#include <brig/brig.h>

/* In each period the bytes of so many seconds must come, or the last frame... */
#define RETURN_PERIOD_SECONDS 5u
#define RETURN_PERIOD_NS      (RETURN_PERIOD_SECONDS * 1000000000ull)
/* ...at this rate, unless the stream is a slow one: bytes a second. */
#define RETURN_RATE (2ull << 20)
/* The whole takes a period and, at most, this. */
#define RETURN_MOST_NS 60000000000ull

struct return_time {
	uint64_t end_ns;    /* of the whole */
	uint64_t period_ns; /* the end of this period... */
	uint64_t bytes;     /* ...and the bytes that had come before it */
	uint64_t least;     /* of a period */
};

/* The longest time for the files of a run with these limits. */
uint64_t return_time_most(const struct brig_limits *limits, uint64_t rate);
void return_time_begin(struct return_time *time, const struct brig_limits *limits, uint64_t rate,
		       uint64_t now_ns);
/* When to look again, after `received` bytes in all; 0: the agent has had its time. */
uint64_t return_time_next(struct return_time *time, uint64_t received, uint64_t now_ns);
#endif
