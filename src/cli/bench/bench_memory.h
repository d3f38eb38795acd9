/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of waiting cells: of those processes below this one that have a process namespace of
 * their own. Templates and keepers, which have none, are counted separately.
 */
#ifndef BRIG_CLI_BENCH_BENCH_MEMORY_H
#define BRIG_CLI_BENCH_BENCH_MEMORY_H

#include <stdint.h>

struct bench_memory_sum {
	uint64_t private_bytes;  /* pages that are not shared */
	uint64_t resident_bytes; /* all their pages in memory */
	/* shared pages too, divided by the number of processes that share them */
	uint64_t proportional_bytes;
	unsigned processes;
	unsigned unread; /* processes whose memory cannot be read */
};

struct bench_memory {
	struct bench_memory_sum cells;
	struct bench_memory_sum templates; /* with their keepers */
};

/* 0, or -errno: /proc cannot be read. */
int bench_memory_read(struct bench_memory *ret);
#endif
