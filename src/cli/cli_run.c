/* SPDX-License-Identifier: Apache-2.0 */
/* `brig run`: one run, its streams passed through like those of any filter. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/consent.h"
#include "cli/exit_status.h"
#include "cli/report.h"
#include "cli/run_files.h"
#include "cli/run_options.h"
#include "cli/run_pump.h"

static void cleanup_context(struct brig_context **context)
{
	brig_context_free(*context);
}

static void cleanup_run(struct brig_run **run)
{
	brig_run_free(*run);
}

static void cleanup_result(struct brig_result **result)
{
	brig_result_free(*result);
}

static void on_output(void *user, int stream, const void *data, size_t size)
{
	struct outlet *out = user;

	outlet_add(&out[stream == STDERR_FILENO], data, size);
}

static int start(struct brig_context *context, struct brig_request *request, bool may_ask,
		 struct brig_run **ret, struct brig_error *err)
{
	int r = brig_run_start(context, request, ret, err);

	if (r < 0 && err->code == BRIG_E_CONSENT && may_ask && consent_ask(context, request)) {
		request->consent = true;
		r = brig_run_start(context, request, ret, err);
	}
	return r;
}

static int write_files(const struct run_line *line, const struct brig_result *result,
		       struct brig_error *err)
{
	bool wanted = line->out_dir || (line->out.count > 0 && !line->json);

	if (!wanted) {
		return 0;
	}
	struct run_files_options options = { .dir = line->out_dir ? line->out_dir : ".",
					     .force = line->force,
					     .exec = line->out_exec };
	int r = run_files_write(result, &options, err);
	return r < 0 ? r : 1;
}

/* Compilers talk before the program does: what they said was not streamed. */
static void show_compiler_text(const struct brig_result *result, struct outlet *out)
{
	if (result->status == BRIG_COMPILE_FAILED) {
		outlet_add(&out[0], result->stdout_data, result->stdout_size);
		outlet_add(&out[1], result->stderr_data, result->stderr_size);
		outlet_end(&out[0]);
		outlet_end(&out[1]);
	}
}

static int tell(const struct run_line *line, const struct brig_result *result, int caught)
{
	struct brig_error error = { 0 };
	int status = caught ? STATUS_SIGNAL + caught : exit_status_of(result);
	int r = write_files(line, result, &error);

	if (line->json) {
		_cleanup_free_ char *json = brig_result_json(result);
		int printed = report_json(json);
		status = printed ? printed : status;
	} else {
		report_verdict(result);
		if (result->value_json) {
			report_line("value: %s", result->value_json);
		}
		run_files_report(result, r == 1);
	}
	if (line->time) {
		report_usage_figures(result);
	}
	if (r < 0) {
		/* The result is out already: this can only be told to a person. */
		report_error(&error, false);
		return STATUS_ERROR;
	}
	return status;
}

static int run_with(const struct run_line *line, struct run_request *request, struct outlet *out)
{
	struct brig_error error = { 0 };
	_cleanup_(cleanup_context)
	struct brig_context *context = NULL;
	_cleanup_(cleanup_run)
	struct brig_run *run = NULL;
	_cleanup_(cleanup_result)
	struct brig_result *result = NULL;
	struct brig_context_options options = { .size = sizeof(options),
						.config_dir = line->config,
						.no_cache = line->no_cache };
	/* One cell is made ahead, and it is this run's: there will be no second one. */
	struct brig_warm_options warm = { .size = sizeof(warm), .cells_max = 1, .pools_max = 1 };

	if (request->request.start == BRIG_START_WARM) {
		options.warm = &warm;
	}
	request->request.stdin_feed = run_line_feeds(line);
	if (!line->json) {
		request->request.on_output = on_output;
		request->request.user = out;
		request->request.discard_output = true;
	}
	_cleanup_close_ int signals = -1;
	if (brig_context_new(&options, &context, &error) < 0) {
		return report_error(&error, line->json);
	}
	/* Heard from the start on: a signal between start and loop must not be lost. */
	signals = run_signals_open();
	if (signals < 0) {
		error_errno(&error, BRIG_E_SYSTEM, -signals, "cannot listen for signals");
		return report_error(&error, line->json);
	}
	if (start(context, &request->request, !line->json, &run, &error) < 0) {
		return report_error(&error, line->json);
	}
	struct run_pump pump = { .run = run,
				 .signals = signals,
				 .feeding = request->request.stdin_feed,
				 .out = { line->json ? NULL : &out[0],
					  line->json ? NULL : &out[1] } };
	if (run_pump(&pump, &error) < 0) {
		return report_error(&error, line->json);
	}
	result = brig_run_take_result(run);
	if (!result) {
		error_set(&error, BRIG_E_SYSTEM, 0, "the run left no result");
		return report_error(&error, line->json);
	}
	if (!line->json) {
		show_compiler_text(result, out);
	}
	return tell(line, result, pump.caught);
}

static int run_line(const struct run_line *line)
{
	struct brig_error error = { 0 };
	struct run_request request;
	struct outlet out[2];

	if (run_request_make(line, &request, &error) < 0) {
		return report_usage(&error, line->json);
	}
	outlet_init(&out[0], STDOUT_FILENO);
	outlet_init(&out[1], STDERR_FILENO);
	int status = run_with(line, &request, out);
	outlet_done(&out[0]);
	outlet_done(&out[1]);
	run_request_done(&request);
	return status;
}

static int work(void *into, const struct arguments *given)
{
	struct run_line *line = into;

	line->given = *given;
	return line->schema ? report_json(brig_result_schema()) : run_line(line);
}

int command_run(int argc, char **argv)
{
	struct option_info options[RUN_OPTIONS_MAX];
	struct syntax syntax = {
		.command = "run",
		.usage = "run [OPTIONS] FILE [-- ARGS...]\n"
			 "run [OPTIONS] -c CODE [-- ARGS...]\n"
			 "run [OPTIONS] - [-- ARGS...]        (code from stdin)\n"
			 "run [OPTIONS] -- CMD [ARGS...]      (any program)",
		.about = "Runs code or a program in a sealed cell that lives for this run. stdin,\n"
			 "stdout and stderr pass through.",
		.options = options,
		.options_count = run_options(RUN_COMMAND_RUN, options),
		.operands_max = 1,
		.rest = true,
		.notes = "Exit status: the program's own, 128+N if signal N ended it; else 116 "
			 "network,\n"
			 "117 disk, 118 output, 121 cpu, 122 memory, 123 process limit, 124 "
			 "timeout,\n"
			 "119 compile failed, 120 lost, 125 error of brig's own, 126 refused, 127 "
			 "not\n"
			 "found, 2 usage.",
	};
	struct run_line line = { 0 };
	int status = command_work(&syntax, argc, argv, &line, work);

	run_line_done(&line);
	return status;
}
