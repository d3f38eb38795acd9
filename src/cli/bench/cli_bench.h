/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of `brig bench`, and their output. */
#ifndef BRIG_CLI_BENCH_CLI_BENCH_H
#define BRIG_CLI_BENCH_CLI_BENCH_H

#include "base/bytes/buf.h"
#include "cli/bench/bench_load.h"
#include "cli/bench/bench_memory.h"

#define BENCH_ROUNDS 5

enum bench_row {
	BENCH_COLD,       /* one at a time */
	BENCH_COLD_LOAD,  /* several in flight */
	BENCH_WARM_READY, /* one at a time, the pool full before each */
	BENCH_WARM,       /* one at a time, and the pool filled in parallel */
	BENCH_WARM_LOAD,
	BENCH_ROWS,
};

struct bench_figures {
	bool wanted;
	struct bench_samples samples;    /* of all rounds */
	double per_second[BENCH_ROUNDS]; /* of each round */
};

struct bench {
	unsigned runs, in_flight, cells;
	char runtime[64], policy[160];
	bool warm;        /* there are pools for such requests... */
	char reason[512]; /* ...or why not */
	struct bench_memory memory;
	struct bench_figures rows[BENCH_ROWS];
};

/* Sorts the samples. */
void bench_print_text(struct bench *bench, struct buf *out);
void bench_print_json(struct bench *bench, struct buf *out);
#endif
