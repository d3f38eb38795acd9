/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol between the driver and a process that measures for it, over a socket on WORKER_FD:
 * one uint32_t (which contender), answered by one struct sample.
 */
#ifndef BRIG_BENCH_SAMPLE_H
#define BRIG_BENCH_SAMPLE_H

#include <stdint.h>
#include <time.h>

#define WORKER_FD 3

struct sample {
	uint64_t wall_ns;
	uint64_t cpu_ns; /* of the process and its reaped children; 0: not known */
	int64_t status;  /* 0: ran and exited with 0 */
};

static inline uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
#endif
