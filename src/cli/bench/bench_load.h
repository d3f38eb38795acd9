/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many runs of one request, a fixed number of them at the same time: one thread, one loop over the
 * runs' descriptors and the context's. Uses the public interface alone, like any program with an
 * event loop.
 */
#ifndef BRIG_CLI_BENCH_BENCH_LOAD_H
#define BRIG_CLI_BENCH_BENCH_LOAD_H

#include <brig/brig.h>

#define BENCH_IN_FLIGHT_MAX 64

struct bench_load {
	struct brig_context *context;       /* borrowed */
	const struct brig_request *request; /* borrowed */
	unsigned runs;
	unsigned in_flight; /* 1 to BENCH_IN_FLIGHT_MAX */
	/*
	 * Wait for this many ready cells before each run, not counted in its time: the cost of a
	 * request that finds its pool full. 0: the next run starts when one has ended. Only with
	 * one in flight.
	 */
	unsigned ready;
};

struct bench_samples {
	/* owned: from brig_run_start() to the result, in the order in which runs ended */
	uint64_t *wall_ns;
	size_t count;
	size_t warm; /* how many came from a pool */
	uint64_t elapsed_ns;
};

/* Adds to `samples`. A run that does not end with "ok" is an error: its figures mean nothing. */
int bench_load_run(const struct bench_load *load, struct bench_samples *samples,
		   struct brig_error *err);
void bench_samples_done(struct bench_samples *samples);
void bench_samples_sort(struct bench_samples *samples);
/* Of sorted samples: percent of them took at most this long. */
uint64_t bench_samples_at(const struct bench_samples *samples, unsigned percent);
#endif
