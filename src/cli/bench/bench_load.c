/* SPDX-License-Identifier: Apache-2.0 */
/* Many runs in a row: see bench_load.h. */
#include "cli/bench/bench_load.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"

struct flight {
	struct brig_run *run;
	uint64_t start_ns;
};

struct flights {
	struct flight list[BENCH_IN_FLIGHT_MAX];
	unsigned count;
	unsigned started;
};

static int make_room(struct bench_samples *samples, size_t more)
{
	uint64_t *grown = reallocarray(samples->wall_ns, samples->count + more, sizeof(*grown));

	if (!grown) {
		return -ENOMEM;
	}
	samples->wall_ns = grown;
	return 0;
}

static int start_one(const struct bench_load *load, struct flights *flights, struct brig_error *err)
{
	struct flight *flight = &flights->list[flights->count];

	if (load->ready) {
		int r = brig_context_warm(load->context, load->request, load->ready, err);
		if (r < 0) {
			return r;
		}
	}
	flight->run = NULL;
	flight->start_ns = clock_now_ns();
	int r = brig_run_start(load->context, load->request, &flight->run, err);
	if (r < 0) {
		return r;
	}
	flights->count++;
	flights->started++;
	return 0;
}

static int check(const struct brig_result *result, struct brig_error *err)
{
	if (!result) {
		return error_set(err, BRIG_E_SYSTEM, EIO, "a run ended without a result");
	}
	if (result->status == BRIG_OK) {
		return 0;
	}
	int r = error_set(err, BRIG_E_INPUT, ECANCELED, "a run (%s) ended with %s: %.200s",
			  result->start, brig_status_name(result->status),
			  result->stderr_size ? result->stderr_data : result->remedy);
	error_remedy(err, "give code that ends without an error: `brig run` shows the failure");
	return r;
}

/* The clock stops when the run ends; freeing it is part of the load, not of the latency. */
static int end_one(struct flight *flight, struct bench_samples *samples, struct brig_error *err)
{
	samples->wall_ns[samples->count++] = clock_now_ns() - flight->start_ns;
	struct brig_result *result = brig_run_take_result(flight->run);
	int r = check(result, err);

	if (result) {
		samples->warm += strcmp(result->start, "warm") == 0;
	}
	brig_result_free(result);
	brig_run_free(flight->run);
	return r;
}

static int step_all(struct flights *flights, struct bench_samples *samples, struct brig_error *err)
{
	for (unsigned i = 0; i < flights->count; i++) {
		int r = brig_run_step(flights->list[i].run, err);
		if (r == 0) {
			continue;
		}
		struct flight ended = flights->list[i];
		flights->list[i--] = flights->list[--flights->count];
		if (r < 0) {
			brig_run_free(ended.run);
			return r;
		}
		r = end_one(&ended, samples, err);
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

/* While the programs run there is time to make the next cells. */
static void wait_for_some(const struct bench_load *load, const struct flights *flights)
{
	struct pollfd fds[BENCH_IN_FLIGHT_MAX + 1];

	for (unsigned i = 0; i < flights->count; i++) {
		fds[i] = (struct pollfd){ brig_run_fd(flights->list[i].run), POLLIN, 0 };
	}
	if (poll(fds, flights->count, 0) == 0) {
		brig_context_step(load->context);
		fds[flights->count] = (struct pollfd){ brig_context_fd(load->context), POLLIN, 0 };
		poll(fds, flights->count + 1, -1);
	}
}

static int fly(const struct bench_load *load, struct flights *flights,
	       struct bench_samples *samples, struct brig_error *err)
{
	while (flights->count || flights->started < load->runs) {
		while (flights->count < load->in_flight && flights->started < load->runs) {
			int r = start_one(load, flights, err);
			if (r < 0) {
				return r;
			}
		}
		int r = step_all(flights, samples, err);
		if (r < 0) {
			return r;
		}
		bool full = flights->count == load->in_flight || flights->started == load->runs;
		if (flights->count && full) {
			wait_for_some(load, flights);
		}
	}
	return 0;
}

int bench_load_run(const struct bench_load *load, struct bench_samples *samples,
		   struct brig_error *err)
{
	struct flights flights = { 0 };
	uint64_t begin = clock_now_ns();

	if (make_room(samples, load->runs) < 0) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for figures");
	}
	int r = fly(load, &flights, samples, err);
	while (flights.count) {
		brig_run_free(flights.list[--flights.count].run);
	}
	samples->elapsed_ns += clock_now_ns() - begin;
	return r;
}

void bench_samples_done(struct bench_samples *samples)
{
	free(samples->wall_ns);
	*samples = (struct bench_samples){ 0 };
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

void bench_samples_sort(struct bench_samples *samples)
{
	if (samples->count) {
		qsort(samples->wall_ns, samples->count, sizeof(uint64_t), compare);
	}
}

uint64_t bench_samples_at(const struct bench_samples *samples, unsigned percent)
{
	size_t at = samples->count * percent / 100;

	if (samples->count == 0) {
		return 0;
	}
	return samples->wall_ns[at < samples->count ? at : samples->count - 1];
}
