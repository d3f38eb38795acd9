/* SPDX-License-Identifier: Apache-2.0 */
/* `brig doctor`: what this host can enforce, and how to repair the rest. */
#include "cli/doctor/cli_doctor.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/exit_status.h"
#include "cli/options.h"
#include "cli/report.h"

#define STATUS_LACKING 1 /* something that the policy requires is missing */

struct doctor_args {
	bool json;
	const char *policy;
};

static const struct option_info options[] = {
	{ "--json", NULL, "print one JSON object", option_take_flag,
	  offsetof(struct doctor_args, json), NULL },
	{ "--policy", "NAME", "the policy to check the host against (default: default)",
	  option_take_text, offsetof(struct doctor_args, policy), NULL },
};

static const struct syntax syntax = {
	.command = "doctor",
	.usage = "doctor [--json] [--policy NAME]",
	.about = "Tests every layer of a cell on this host, and reports what is lost without the\n"
		 "missing ones, and how to repair them.",
	.options = options,
	.options_count = ARRAY_SIZE(options),
	.notes = "Exit status: 0, the host has all that the policy requires; 1, something is\n"
		 "missing; 2, the command line or the policy is invalid.",
};

static void cleanup_context(struct brig_context **context)
{
	brig_context_free(*context);
}

static void cleanup_policy(struct policy **policy)
{
	policy_free(*policy);
}

static void judge(struct diagnosis *diagnosis)
{
	const struct probe_report *report = &diagnosis->report;

	for (int i = 0; i < LAYER_COUNT; i++) {
		if (report->layers[i].state == PROBE_MISSING &&
		    !doctor_waives(diagnosis, (enum layer)i)) {
			diagnosis->lacking |= LAYER_BIT(i);
		}
	}
	for (int i = 0; i < PROBE_CALLS; i++) {
		diagnosis->call_lacking |=
			report->calls[i].state == PROBE_MISSING && probe_call_table[i].required;
	}
	diagnosis->ok = !diagnosis->lacking && !diagnosis->call_lacking;
}

static bool wants_colour(void)
{
	const char *no = getenv("NO_COLOR");
	const char *terminal = getenv("TERM");

	return isatty(STDOUT_FILENO) == 1 && !(no && *no) &&
	       !(terminal && strcmp(terminal, "dumb") == 0);
}

/* With colours the text has escapes of our own; untrusted text in it is escaped already. */
static int print_coloured(const struct buf *text)
{
	if (text->failed || fwrite(text->data, 1, text->size, stdout) != text->size ||
	    fflush(stdout) != 0) {
		report_line("cannot write to stdout");
		return STATUS_ERROR;
	}
	return STATUS_OK;
}

static int print(const struct diagnosis *diagnosis, bool json)
{
	_cleanup_(buf_done)
	struct buf out = { 0 };
	bool colour = !json && wants_colour();

	if (json) {
		doctor_json(diagnosis, &out);
		return report_json(out.failed ? NULL : out.data);
	}
	doctor_text(diagnosis, colour, &out);
	return colour ? print_coloured(&out) : report_text(&out);
}

static int diagnose(void *into, const struct arguments *given)
{
	_cleanup_(cleanup_context)
	struct brig_context *context = NULL;
	_cleanup_(cleanup_policy)
	struct policy *policy = NULL;
	_cleanup_free_ struct diagnosis *diagnosis = NULL;
	const struct doctor_args *args = into;
	struct brig_error error = { 0 };

	(void)given;
	if (brig_context_new(NULL, &context, &error) < 0) {
		return report_error(&error, args->json);
	}
	if (policy_load(&context->policies, args->policy, &policy, &error) < 0) {
		return report_usage(&error, args->json);
	}
	diagnosis = calloc(1, sizeof(*diagnosis));
	if (!diagnosis) {
		report_line("no memory");
		return STATUS_ERROR;
	}
	diagnosis->context = context;
	diagnosis->policy = policy;
	probe_run(context->groups, &diagnosis->report);
	judge(diagnosis);
	doctor_try_warm(diagnosis);
	int status = print(diagnosis, args->json);
	return status != STATUS_OK ? status : diagnosis->ok ? STATUS_OK : STATUS_LACKING;
}

int command_doctor(int argc, char **argv)
{
	struct doctor_args args = { .policy = "default" };

	return command_work(&syntax, argc, argv, &args, diagnose);
}
