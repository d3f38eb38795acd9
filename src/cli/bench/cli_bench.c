/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brig bench`: measures how long runs take on this host, cold and from a pool, and the cost of a
 * pool.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "cli/bench/cli_bench.h"
#include "cli/cli.h"
#include "cli/cli_report.h"
#include "cli/command.h"
#include "lib/owned.h"

/* A typing error must not keep a shared host busy for hours. */
#define RUNS_MAX  100000
#define CELLS_MAX 64
#define RUNS      200

struct bench_args {
	const char *code, *language, *policy, *config;
	unsigned runs, in_flight, cells;
	bool json, yes;
};

struct number_info {
	unsigned most;
};

static int take_number(void *into, const struct option_info *option, const char *value,
		       struct brig_error *err)
{
	unsigned most = ((const struct number_info *)option->data)->most;
	uint64_t number = 0;

	if (unit_parse(UNIT_COUNT, value, &number) < 0 || number < 1 || number > most) {
		int r = error_set(err, BRIG_E_INPUT, EINVAL, "%s: '%s' is out of range",
				  option->name, value);
		error_remedy(err, "give a number from 1 to %u", most);
		return r;
	}
	*(unsigned *)((char *)into + option->offset) = (unsigned)number;
	return 0;
}

static int make_request(const struct bench_args *args, const char *file, struct brig_request *ret,
			struct brig_error *err)
{
	bool python = !args->language || strcmp(args->language, "python") == 0;

	if (args->code && file) {
		return error_set(err, BRIG_E_INPUT, EINVAL, "code given twice: by -c and as %s",
				 file);
	}
	if (!args->code && !file && !python) {
		int r = error_set(err, BRIG_E_INPUT, EINVAL, "missing code or command");
		error_remedy(err, "give -c CODE or a file in %s", args->language);
		return r;
	}
	*ret = (struct brig_request){
		.size = sizeof(*ret),
		.language = args->language,
		.file = file,
		.code = file         ? NULL
			: args->code ? args->code
				     : "print(1)",
		.policy = args->policy,
		.consent = args->yes,
	};
	return 0;
}

static void fill_in(struct bench_args *args)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned processors = online > 0 && online < BENCH_IN_FLIGHT_MAX ? (unsigned)online : 1;

	args->runs = args->runs ? args->runs : RUNS;
	args->in_flight = args->in_flight ? args->in_flight : processors;
	args->cells = args->cells ? args->cells : 2 * args->in_flight;
	args->cells = args->cells < CELLS_MAX ? args->cells : CELLS_MAX;
}

/* The first run gives the name of the runtime, and brings files of the host into memory. */
static int look_once(struct brig_context *context, const struct brig_request *request,
		     struct bench *bench, struct brig_error *err)
{
	struct brig_request cold = *request;
	_cleanup_(brig_run_freep)
	struct brig_run *run = NULL;
	_cleanup_(bench_samples_done)
	struct bench_samples unused = { 0 };
	struct bench_load load = { context, &cold, 1, 1, 0 };

	cold.start = BRIG_START_COLD;
	int r = bench_load_run(&load, &unused, err);
	if (r < 0) {
		return r;
	}
	r = brig_run_start(context, &cold, &run, err);
	if (r < 0) {
		return r;
	}
	r = brig_run_wait(run, err);
	if (r < 0) {
		return r;
	}
	_cleanup_(brig_result_freep)
	struct brig_result *result = brig_run_take_result(run);
	if (result) {
		snprintf(bench->runtime, sizeof(bench->runtime), "%s", result->runtime);
		snprintf(bench->policy, sizeof(bench->policy), "%.*s",
			 (int)strcspn(result->policy, "@"), result->policy);
	}
	return 0;
}

/* A language without pools is not a failure: its cold figures are still useful. */
static int fill_pool(struct brig_context *context, const struct brig_request *request,
		     struct bench *bench, struct brig_error *err)
{
	struct brig_error why = { 0 };
	int r = brig_context_warm(context, request, bench->cells, &why);

	if (r == -ENOTSUP) {
		snprintf(bench->reason, sizeof(bench->reason), "%s", why.message);
		return 0;
	}
	if (r < 0) {
		*err = why;
		return r;
	}
	bench->warm = true;
	bench_memory_read(&bench->memory); /* if it fails, none is shown */
	return 0;
}

static int measure_row(struct brig_context *context, const struct brig_request *request,
		       struct bench *bench, unsigned round, enum bench_row row,
		       struct brig_error *err)
{
	struct bench_figures *figures = &bench->rows[row];
	bool cold = row == BENCH_COLD || row == BENCH_COLD_LOAD;
	bool loaded = row == BENCH_COLD_LOAD || row == BENCH_WARM_LOAD;
	struct brig_request asked = *request;
	unsigned runs = bench->runs / BENCH_ROUNDS + (round < bench->runs % BENCH_ROUNDS);
	uint64_t before_ns = figures->samples.elapsed_ns;
	struct bench_load load = {
		.context = context,
		.request = &asked,
		.runs = runs ? runs : 1,
		.in_flight = loaded ? bench->in_flight : 1,
		.ready = row == BENCH_WARM_READY ? bench->cells : 0,
	};

	asked.start = cold ? BRIG_START_COLD : BRIG_START_WARM;
	int r = bench_load_run(&load, &figures->samples, err);
	figures->per_second[round] =
		load.runs * 1e9 / (double)(figures->samples.elapsed_ns - before_ns);
	return r;
}

/* Cold and warm runs alternate, so that other load on the host affects both alike. */
static int measure(struct brig_context *context, const struct brig_request *request,
		   struct bench *bench, struct brig_error *err)
{
	int r = look_once(context, request, bench, err);

	if (r < 0) {
		return r;
	}
	r = fill_pool(context, request, bench, err);
	if (r < 0) {
		return r;
	}
	for (size_t i = 0; i < BENCH_ROWS; i++) {
		bool cold = i == BENCH_COLD || i == BENCH_COLD_LOAD;
		bool twice =
			bench->in_flight == 1 && (i == BENCH_COLD_LOAD || i == BENCH_WARM_LOAD);
		bench->rows[i].wanted = (cold || bench->warm) && !twice;
	}
	for (unsigned round = 0; round < BENCH_ROUNDS; round++) {
		for (size_t i = 0; i < BENCH_ROWS; i++) {
			size_t row = round % 2 ? BENCH_ROWS - 1 - i : i;
			if (!bench->rows[row].wanted) {
				continue;
			}
			r = measure_row(context, request, bench, round, row, err);
			if (r < 0) {
				return r;
			}
		}
	}
	return 0;
}

static int bench(void *into, const struct arguments *given)
{
	struct bench_args *args = into;
	struct brig_error error = { 0 };
	struct brig_context *context = NULL;
	struct brig_request request;
	_cleanup_(buf_done)
	struct buf out = { 0 };
	int status;

	if (make_request(args, given->operands[0], &request, &error) < 0) {
		return report_usage(&error, args->json);
	}
	fill_in(args);
	struct bench figures = { .runs = args->runs,
				 .in_flight = args->in_flight,
				 .cells = args->cells };
	struct brig_warm_options warm = { .size = sizeof(warm), .cells_max = args->cells };
	struct brig_context_options options = { .size = sizeof(options),
						.config_dir = args->config,
						.warm = &warm };
	if (brig_context_new(&options, &context, &error) < 0 ||
	    measure(context, &request, &figures, &error) < 0) {
		status = report_error(&error, args->json);
	} else if (args->json) {
		bench_print_json(&figures, &out);
		status = report_json(out.failed ? NULL : out.data);
	} else {
		bench_print_text(&figures, &out);
		status = report_text(&out);
	}
	for (size_t i = 0; i < BENCH_ROWS; i++) {
		bench_samples_done(&figures.rows[i].samples);
	}
	brig_context_free(context);
	return status;
}

#define AT(field) offsetof(struct bench_args, field)
#define OPTION_NUMBER(name_, place_, range_, about_)                                               \
	{                                                                                          \
		.name = (name_), .value = "N", .about = (about_), .take = take_number,             \
		.offset = (place_), .data = (range_)                                               \
	}

static const struct number_info runs_range = { RUNS_MAX };
static const struct number_info in_flight_range = { BENCH_IN_FLIGHT_MAX };
static const struct number_info cells_range = { CELLS_MAX };
static const struct option_info options[] = {
	OPTION_TEXT("-c", "CODE", NULL, AT(code),
		    "the code; else a Python program that prints a number"),
	OPTION_TEXT("--lang", "LANGUAGE", &complete_language, AT(language),
		    "language; else by extension or #! line"),
	OPTION_TEXT("--policy", "POLICY", &complete_policy, AT(policy), "the policy of the runs"),
	OPTION_NUMBER("--runs", AT(runs), &runs_range, "runs for each line of the table (200)"),
	OPTION_NUMBER("--in-flight", AT(in_flight), &in_flight_range,
		      "runs at the same time (one for each CPU)"),
	OPTION_NUMBER("--cells", AT(cells), &cells_range,
		      "ready cells (two for each run at the same time)"),
	OPTION_DIRECTORY("--config", "DIR", AT(config),
			 "the operator's policies and runtimes (/etc/brig)"),
	OPTION_FLAG("--yes", AT(yes), "consent to these runs"),
	OPTION_FLAG("--json", AT(json), "print JSON"),
};

const struct syntax bench_syntax = {
	.command = "bench",
	.usage = "bench [OPTIONS] [FILE]\n"
		 "bench [OPTIONS] -c CODE",
	.about = "Measures runs on this host: cold ones, and warm ones from a pool of\n"
		 "cells that were made in advance. Latencies are from the request to its\n"
		 "result; runs/s is the sustained rate, including the making of new\n"
		 "cells.",
	.options = options,
	.options_count = ARRAY_SIZE(options),
	.operands_max = 1,
	.operands = &complete_file,
	.notes = "Cold and warm runs alternate in five rounds; runs/s is the median of\n"
		 "the rounds. \"pool full\": requests that find all cells ready.",
};

int command_bench(int argc, char **argv)
{
	struct bench_args args = { 0 };

	return command_work(&bench_syntax, argc, argv, &args, bench);
}
