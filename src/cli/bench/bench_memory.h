/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What waiting cells cost: the memory of those processes beneath this one that live in a process
 * namespace of their own. Templates and keepers, which do not, are told apart.
 */
#ifndef BRIG_CLI_BENCH_BENCH_MEMORY_H
#define BRIG_CLI_BENCH_BENCH_MEMORY_H

#include <stdint.h>

struct bench_memory_sum {
	uint64_t private_bytes;      /* pages that nobody else has */
	uint64_t resident_bytes;     /* all that they can see in memory */
	uint64_t proportional_bytes; /* shared ones too, divided by those who share them */
	unsigned processes;
	unsigned unread; /* processes whose memory may not be looked at */
};

struct bench_memory {
	struct bench_memory_sum cells;
	struct bench_memory_sum templates; /* with their keepers */
};

/* 0, or -errno: /proc cannot be read. */
int bench_memory_read(struct bench_memory *ret);
#endif
