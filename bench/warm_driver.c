/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A long-running program that keeps a pool: libbrig as a service would use it, for benchmarks.
 * Reads one command a line, answers each with a line of JSON:
 *
 * 	load START IN_FLIGHT RUNS READY	cold, warm or auto; READY: cells waited for before each
 * 	memory				fills the pool, and reports its memory
 *
 * With "value" at the end each run is asked for its value, as requests to the service are.
 *
 * usage: warm_driver CONFIG_DIR CELLS LANGUAGE CODE [value]
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <brig/brig.h>

#include "cli/bench/bench_load.h"
#include "cli/bench/bench_memory.h"
#include "lib/warm/warm.h"

/*
 * Waits until nothing of earlier runs is left: until a number of checks in a row found nothing to
 * do.
 */
#define QUIET_ROUNDS 5
#define ROUNDS_MAX   100
#define ROUND_MS     10

struct driver {
	struct brig_context *context;
	struct brig_request request;
	unsigned cells;
};

static void print_error(const struct brig_error *error)
{
	char *json = brig_error_json(error);

	puts(json ? json : "{\"error\":{\"message\":\"no memory\"}}");
	free(json);
}

static void answer_load(struct driver *driver, const char *line)
{
	char start[16];
	struct bench_load load = { .context = driver->context, .request = &driver->request };
	struct bench_samples samples = { 0 };
	struct brig_error error = { .code = BRIG_E_INPUT, .message = "invalid command" };

	if (sscanf(line, "load %15s %u %u %u", start, &load.in_flight, &load.runs, &load.ready) !=
		    4 ||
	    load.in_flight < 1 || load.in_flight > BENCH_IN_FLIGHT_MAX) {
		print_error(&error);
		return;
	}
	driver->request.start = strcmp(start, "cold") == 0   ? BRIG_START_COLD
				: strcmp(start, "auto") == 0 ? BRIG_START_AUTO
							     : BRIG_START_WARM;
	if (bench_load_run(&load, &samples, &error) < 0) {
		print_error(&error);
	} else {
		printf("{\"elapsed_ns\":%" PRIu64 ",\"warm\":%zu,\"wall_ns\":[", samples.elapsed_ns,
		       samples.warm);
		for (size_t i = 0; i < samples.count; i++) {
			printf("%s%" PRIu64, i ? "," : "", samples.wall_ns[i]);
		}
		puts("]}");
	}
	bench_samples_done(&samples);
}

static void print_sum(const char *name, const struct bench_memory_sum *sum, const char *end)
{
	printf("\"%s\":{\"private_bytes\":%" PRIu64 ",\"proportional_bytes\":%" PRIu64
	       ",\"resident_bytes\":%" PRIu64 ",\"processes\":%u,\"unread\":%u}%s",
	       name, sum->private_bytes, sum->proportional_bytes, sum->resident_bytes,
	       sum->processes, sum->unread, end);
}

static void come_to_rest(struct brig_context *context)
{
	struct pollfd work = { .fd = brig_context_fd(context), .events = POLLIN };
	unsigned quiet = 0;

	for (unsigned i = 0; i < ROUNDS_MAX && quiet < QUIET_ROUNDS; i++) {
		quiet = poll(&work, 1, ROUND_MS) == 0 ? quiet + 1 : 0;
		brig_context_step(context);
	}
}

static void answer_memory(struct driver *driver)
{
	struct brig_error error = { .code = BRIG_E_SYSTEM, .message = "/proc cannot be read" };
	struct bench_memory memory;

	int r = brig_context_warm(driver->context, &driver->request, driver->cells, &error);

	if (r == 0) {
		come_to_rest(driver->context);
		r = bench_memory_read(&memory);
	}
	if (r < 0) {
		print_error(&error);
		return;
	}
	const struct warm_pool *pool =
		warm_pool_for(driver->context->warm, &driver->request, &error);
	printf("{\"count\":%u,\"pinned_pages\":%d,", driver->cells,
	       pool ? warm_pool_pinned(pool) : 0);
	print_sum("cells", &memory.cells, ",");
	print_sum("templates", &memory.templates, "}\n");
}

int main(int argc, char **argv)
{
	struct brig_error error = { 0 };
	struct driver driver = { 0 };
	char line[256];

	if (argc < 5 || argc > 6 || (driver.cells = (unsigned)strtoul(argv[2], NULL, 10)) == 0) {
		fprintf(stderr, "usage: warm_driver CONFIG_DIR CELLS LANGUAGE CODE [value]\n");
		return 2;
	}
	struct brig_warm_options warm = { .size = sizeof(warm), .cells_max = driver.cells };
	struct brig_context_options options = { .size = sizeof(options),
						.config_dir = argv[1],
						.warm = &warm };
	driver.request = (struct brig_request){ .size = sizeof(driver.request),
						.language = argv[3],
						.code = argv[4],
						.want_value = argc == 6 };
	if (brig_context_new(&options, &driver.context, &error) < 0) {
		fprintf(stderr, "warm_driver: %s\n", error.message);
		return 1;
	}
	while (fgets(line, sizeof(line), stdin)) {
		if (strncmp(line, "load ", 5) == 0) {
			answer_load(&driver, line);
		} else {
			answer_memory(&driver);
		}
		fflush(stdout);
	}
	brig_context_free(driver.context);
	return 0;
}
