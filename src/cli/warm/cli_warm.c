/* SPDX-License-Identifier: Apache-2.0 */
/* `brig warm`: the user's service that does `brig run` with cells made ahead. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/units.h"
#include "cli/cli.h"
#include "cli/cli_report.h"
#include "cli/command.h"
#include "cli/exit_status.h"
#include "cli/warm/warm_client.h"
#include "cli/warm/warm_service.h"
#include "kernel/sys.h"

#define WORKERS_USUAL 4
#define WORKERS_MOST  32
#define IDLE_USUAL    "15m"

struct warm_args {
	const char *workers, *idle;
};

static int read_options(const struct warm_args *args, struct warm_service_options *ret,
			struct brig_error *err)
{
	uint64_t workers = WORKERS_USUAL;
	const char *idle = args->idle ? args->idle : IDLE_USUAL;

	*ret = (struct warm_service_options){ .ready = -1 };
	if (args->workers && (unit_parse(UNIT_COUNT, args->workers, &workers) < 0 || workers < 1 ||
			      workers > WORKERS_MOST)) {
		int r = error_set(err, BRIG_E_INPUT, EINVAL,
				  "--workers: '%s' is not a number of "
				  "workers",
				  args->workers);
		error_remedy(err, "give 1 to %d", WORKERS_MOST);
		return r;
	}
	if (unit_parse(UNIT_TIME, idle, &ret->idle_ns) < 0 || ret->idle_ns == 0) {
		int r = error_set(err, BRIG_E_INPUT, EINVAL, "--idle: '%s' is not %s", idle,
				  unit_describe(UNIT_TIME));
		error_remedy(err, "%s", unit_spelling(UNIT_TIME));
		return r;
	}
	ret->workers = (unsigned)workers;
	return 0;
}

static int serve(const struct warm_args *args)
{
	struct warm_service_options options;
	struct brig_error error = { 0 };

	if (read_options(args, &options, &error) < 0) {
		return report_usage(&error, false);
	}
	return warm_serve(&options, &error) < 0 ? report_error(&error, false) : STATUS_OK;
}

/* --- in the background ------------------------------------------------------------------------ */

/* Its errors are told as those of the command, until it is ready. */
static _Noreturn void serve_in_background(struct warm_service_options *options, int ready)
{
	struct brig_error error = { 0 };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (setsid() < 0 || null < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(null, STDOUT_FILENO) < 0) {
		_exit(STATUS_ERROR);
	}
	/* Nothing of the caller stays open: somebody may wait for its end. */
	int moved = fcntl(ready, F_DUPFD_CLOEXEC, null > ready ? null + 1 : ready + 1);
	if (moved < 0 || sys_close_range(3, (unsigned)moved - 1, 0) < 0 ||
	    sys_close_range((unsigned)moved + 1, ~0u, 0) < 0) {
		_exit(STATUS_ERROR);
	}
	options->ready = moved;
	int r = warm_serve(options, &error);
	_exit(r < 0 ? report_error(&error, false) : STATUS_OK);
}

static int start(const struct warm_args *args)
{
	struct warm_service_options options;
	struct brig_error error = { 0 };
	struct warm_state state;
	int pair[2];
	char word[16];

	if (read_options(args, &options, &error) < 0) {
		return report_usage(&error, false);
	}
	if (warm_client_status(&state, &error) == 0) {
		report_line("the warm service runs already: pid %d", (int)state.pid);
		return STATUS_OK;
	}
	if (pipe2(pair, O_CLOEXEC) < 0) {
		error_errno(&error, BRIG_E_SYSTEM, errno, "cannot start the warm service");
		return report_error(&error, false);
	}
	pid_t pid = fork();
	if (pid == 0) {
		close(pair[0]);
		serve_in_background(&options, pair[1]);
	}
	close(pair[1]);
	ssize_t n = pid < 0 ? 0 : read(pair[0], word, sizeof(word));
	close(pair[0]);
	return n > 0 ? STATUS_OK : STATUS_ERROR;
}

/* --- the others ------------------------------------------------------------------------------- */

static int stop(const struct warm_args *args)
{
	struct brig_error error = { 0 };

	(void)args;
	return warm_client_stop(&error) < 0 ? report_error(&error, false) : STATUS_OK;
}

static int status(const struct warm_args *args)
{
	struct brig_error error = { 0 };
	struct warm_state state;
	_cleanup_(buf_done)
	struct buf text = { 0 };

	(void)args;
	if (warm_client_status(&state, &error) < 0) {
		return report_error(&error, false);
	}
	buf_addf(&text, "pid %d: %s\na run from here is ", (int)state.pid, state.figures);
	if (state.why[0]) {
		buf_addf(&text, "cold: the service differs in: %s\n", state.why);
	} else if (isatty(STDIN_FILENO) == 1) {
		buf_adds(&text, "cold as long as its standard input is a terminal\n");
	} else {
		buf_adds(&text, "warm\n");
	}
	return report_text(&text);
}

static const struct action {
	const char *word;
	int (*work)(const struct warm_args *args);
} actions[] = {
	{ "start", start },
	{ "stop", stop },
	{ "status", status },
	{ "serve", serve },
};

static int act(void *into, const struct arguments *given)
{
	const char *word = given->operands_count ? given->operands[0] : "";
	struct brig_error error = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		if (strcmp(actions[i].word, word) == 0) {
			return actions[i].work(into);
		}
	}
	error_set(&error, BRIG_E_INPUT, EINVAL, "warm: %s%.64s",
		  word[0] ? "unknown action: " : "missing action", word);
	error_remedy(&error, "actions are start, stop, status and serve");
	return report_usage(&error, false);
}

static const struct option_info options[] = {
	OPTION_TEXT("--workers", "NUMBER", NULL, offsetof(struct warm_args, workers),
		    "the most runs at one time (4); further ones are cold"),
	OPTION_TEXT("--idle", "TIME", NULL, offsetof(struct warm_args, idle),
		    "end after this time without a run (15m)"),
};

static const struct completion action_words = COMPLETE_COLUMN(actions, word);

const struct syntax warm_syntax = {
	.command = "warm",
	.usage = "warm start [--workers NUMBER] [--idle TIME]\n"
		 "warm serve [--workers NUMBER] [--idle TIME]   (in the foreground)\n"
		 "warm status\nwarm stop",
	.about = "Keeps cells ready for your own runs: as long as this service runs, brig\n"
		 "run hands it each run that would be the same there, and is faster by\n"
		 "several times. Others cannot use it.",
	.options = options,
	.options_count = ARRAY_SIZE(options),
	.operands_max = 1,
	.operands = &action_words,
	.notes = "BRIG_WARM=off makes a run cold.",
};

int command_warm(int argc, char **argv)
{
	struct warm_args args = { 0 };

	return command_work(&warm_syntax, argc, argv, &args, act);
}
