/* SPDX-License-Identifier: Apache-2.0 */
/* `brig run`: one run, its streams passed through like those of any filter. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/cli_report.h"
#include "cli/command.h"
#include "cli/exit_status.h"
#include "cli/run/consent.h"
#include "cli/run/run_context.h"
#include "cli/run/run_files.h"
#include "cli/run/run_options.h"
#include "cli/run/run_project.h"
#include "cli/run/run_pump.h"
#include "cli/run/run_service.h"
#include "cli/run/screen.h"
#include "lib/owned.h"

/* Where output goes, and the end of the text on stderr. */
struct output {
	struct output_writer out[2];
	char tail[1024];
	size_t tail_size;
};

static void keep_tail(struct output *output, const char *data, size_t size)
{
	size_t most = sizeof(output->tail) - 1;

	if (size > most) {
		data += size - most;
		size = most;
	}
	size_t kept = output->tail_size < most - size ? output->tail_size : most - size;
	memmove(output->tail, output->tail + output->tail_size - kept, kept);
	memcpy(output->tail + kept, data, size);
	output->tail_size = kept + size;
	output->tail[output->tail_size] = '\0';
}

static void on_output(void *user, int stream, const void *data, size_t size)
{
	struct output *output = user;

	output_writer_add(&output->out[stream == STDERR_FILENO], data, size);
	if (stream == STDERR_FILENO) {
		keep_tail(output, data, size);
	}
}

/* For a program that needs a file next to it: its directory is not in the cell by default. */
static void hint_at_project(const struct run_args *args, const struct brig_result *result,
			    const struct output *output)
{
	const char *file = args->given.operands_count ? args->given.operands[0] : NULL;

	if (result->status != BRIG_FAILED || args->project || !file || strcmp(file, "-") == 0) {
		return;
	}
	_cleanup_free_ char *missing = run_project_missing(file, output->tail);
	if (missing) {
		report_line("import: %s is next to %s, but not in the cell; --project copies the "
			    "directory, --in a file",
			    missing, file);
	}
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

static int write_files(const struct run_args *args, const struct brig_result *result,
		       struct brig_error *err)
{
	bool wanted = args->out_dir || (args->out.count > 0 && !args->json);

	if (!wanted) {
		return 0;
	}
	struct run_files_options options = { .dir = args->out_dir ? args->out_dir : ".",
					     .force = args->force,
					     .exec = args->out_exec };
	int r = run_files_write(result, &options, err);
	return r < 0 ? r : 1;
}

/* Compilers print before the program does: their output was not streamed. */
static void show_compiler_text(const struct brig_result *result, struct output_writer *out)
{
	if (result->status == BRIG_COMPILE_FAILED) {
		output_writer_add(&out[0], result->stdout_data, result->stdout_size);
		output_writer_add(&out[1], result->stderr_data, result->stderr_size);
		output_writer_end(&out[0]);
		output_writer_end(&out[1]);
	}
}

static int tell(const struct run_args *args, const struct brig_result *result, const char *json,
		int caught)
{
	struct brig_error error = { 0 };
	int status = caught ? STATUS_SIGNAL + caught : exit_status_of(result);
	int r = write_files(args, result, &error);

	if (args->json) {
		int printed = report_json(json);
		status = printed ? printed : status;
	} else {
		report_verdict(result);
		if (result->value_json) {
			report_line("value: %s", result->value_json);
		} else if (result->value_repr) {
			report_line("value, which is not JSON: %s", result->value_repr);
		}
		run_files_report(result, r != 0);
	}
	if (args->time) {
		report_usage_figures(result);
	}
	if (r < 0) {
		/* The result is printed already: this error can only go to stderr. */
		report_error(&error, false);
		return STATUS_ERROR;
	}
	return status;
}

static int run_with(const struct run_args *args, struct run_request *request, struct output *output)
{
	struct output_writer *out = output->out;
	struct brig_error error = { 0 };
	_cleanup_(run_context_closep)
	struct brig_context *context = NULL;
	_cleanup_(brig_run_freep)
	struct brig_run *run = NULL;
	_cleanup_(brig_result_freep)
	struct brig_result *result = NULL;
	struct brig_context_options options = { .size = sizeof(options),
						.config_dir = args->config,
						.audit_file = args->audit,
						.no_cache = args->no_cache };
	bool warm = request->request.start == BRIG_START_WARM;

	request->request.stdin_feed = run_args_feeds(args);
	if (!args->json) {
		request->request.on_output = on_output;
		request->request.user = output;
		request->request.discard_output = true;
	}
	_cleanup_close_ int signals = -1;
	if (run_context_open(&options, warm, &context, &error) < 0) {
		return report_error(&error, args->json);
	}
	/* Opened before the start: a signal between start and loop must not be lost. */
	signals = run_signals_open(args->terminal);
	if (signals < 0) {
		error_errno(&error, BRIG_E_SYSTEM, -signals, "cannot set up signal handling");
		return report_error(&error, args->json);
	}
	if (start(context, &request->request, !args->json, &run, &error) < 0) {
		return report_error(&error, args->json);
	}
	_cleanup_(screen_give_back)
	struct screen screen = { 0 };
	if (args->terminal && screen_take(&screen, &error) < 0) {
		return report_error(&error, args->json);
	}
	struct run_pump pump = { .run = run,
				 .signals = signals,
				 .feeding = request->request.stdin_feed,
				 .out = { args->json ? NULL : &out[0],
					  args->json ? NULL : &out[1] } };
	int r = run_pump(&pump, &error);
	screen_give_back(&screen);
	if (r < 0) {
		return report_error(&error, args->json);
	}
	result = brig_run_take_result(run);
	if (!result) {
		error_set(&error, BRIG_E_SYSTEM, 0, "the run ended without a result");
		return report_error(&error, args->json);
	}
	if (!args->json) {
		show_compiler_text(result, out);
	}
	_cleanup_free_ char *json = args->json ? brig_result_json(result) : NULL;
	int status = tell(args, result, json, pump.caught);
	if (!args->json) {
		hint_at_project(args, result, output);
	}
	return status;
}

/* Waits for the reader of our stdout: the service then waits with its program. */
static int on_service_output(void *user, int stream, const void *data, size_t size)
{
	struct output *output = user;

	on_output(output, stream, data, size);
	return output_writer_flush(&output->out[stream == STDERR_FILENO]);
}

static int drop_output(void *user, int stream, const void *data, size_t size)
{
	(void)user, (void)stream, (void)data, (void)size;
	return 0; /* the result contains it all */
}

static int run_by_service(const struct run_args *args, struct run_request *request,
			  struct output *output)
{
	struct brig_error error = { 0 };
	_cleanup_(brig_result_freep)
	struct brig_result *result = NULL;
	_cleanup_free_ char *json = NULL;

	int r = run_service(args, request, args->json ? drop_output : on_service_output, output,
			    &result, &json, &error);
	if (r == -EPIPE) {
		return STATUS_SIGNAL + SIGPIPE;
	}
	if (r < 0) {
		return report_error(&error, args->json);
	}
	output_writer_end(&output->out[0]);
	output_writer_end(&output->out[1]);
	int status = tell(args, result, json, 0);
	if (!args->json) {
		hint_at_project(args, result, output);
	}
	return status;
}

static int check_terminal(const struct run_args *args, struct brig_error *err)
{
	if (args->terminal && (args->json || args->service)) {
		return error_set(err, BRIG_E_INPUT, EINVAL,
				 "-it cannot be combined with --json or --service");
	}
	if (args->terminal && !run_args_feeds(args)) {
		return error_set(err, BRIG_E_INPUT, EINVAL,
				 "-it cannot be combined with -: stdin is the code");
	}
	return 0;
}

static int run_line(const struct run_args *args)
{
	struct brig_error error = { 0 };
	struct run_request request;
	struct output output = { 0 };

	if (check_terminal(args, &error) < 0 || run_request_make(args, &request, &error) < 0) {
		return report_usage(&error, args->json);
	}
	if (args->terminal && screen_check(&request.request, &error) < 0) {
		run_request_done(&request);
		return report_usage(&error, args->json);
	}
	output_writer_init(&output.out[0], STDOUT_FILENO);
	output_writer_init(&output.out[1], STDERR_FILENO);
	output.out[0].interactive = args->terminal;
	int status = args->service ? run_by_service(args, &request, &output)
				   : run_with(args, &request, &output);
	output_writer_done(&output.out[0]);
	output_writer_done(&output.out[1]);
	run_request_done(&request);
	return status;
}

static int work(void *into, const struct arguments *given)
{
	struct run_args *args = into;

	args->given = *given;
	return args->schema ? report_json(brig_result_schema()) : run_line(args);
}

static size_t make_options(struct option_info ret[OPTIONS_MAX])
{
	return run_options(RUN_COMMAND_RUN, ret);
}

const struct syntax run_syntax = {
	.command = "run",
	.usage = "run [OPTIONS] FILE [-- ARGS...]\n"
		 "run [OPTIONS] -c CODE [-- ARGS...]\n"
		 "run [OPTIONS] - [-- ARGS...]        (code from stdin)\n"
		 "run [OPTIONS] -- CMD [ARGS...]      (any program)",
	.about = "Runs code or a program in a sealed cell that lives for this run. stdin,\n"
		 "stdout and stderr pass through.",
	.make_options = make_options,
	.operands_max = 1,
	.operands = &complete_file,
	.rest = true,
	.notes = "Exit status: the program's own, 128+N if signal N ended it; else 116 "
		 "network,\n"
		 "117 disk, 118 output, 121 cpu, 122 memory, 123 process limit, 124 "
		 "timeout,\n"
		 "119 compile failed, 120 lost, 125 error of brig itself, 126 refused, 127 "
		 "not\n"
		 "found, 2 usage.",
};

int command_run(int argc, char **argv)
{
	struct run_args args = { 0 };
	int status = command_work(&run_syntax, argc, argv, &args, work);

	run_args_done(&args);
	return status;
}
