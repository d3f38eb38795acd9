/* SPDX-License-Identifier: Apache-2.0 */
/* `brig doctor`: what this host can enforce, and how to repair the rest. */
#include "cli/doctor/cli_doctor.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "cli/cli.h"
#include "cli/cli_report.h"
#include "cli/command.h"
#include "cli/exit_status.h"
#include "cli/options.h"
#include "lib/owned.h"

#define STATUS_LACKING 1 /* something that the policy requires is missing */

struct doctor_args {
	bool json;
	const char *policy;
};

static const struct option_info options[] = {
	OPTION_FLAG("--json", offsetof(struct doctor_args, json), "print one JSON object"),
	OPTION_TEXT("--policy", "NAME", &complete_policy, offsetof(struct doctor_args, policy),
		    "the policy to check the host against (default: default)"),
};

const struct syntax doctor_syntax = {
	.command = "doctor",
	.usage = "doctor [--json] [--policy NAME]",
	.about = "Tests every layer of a cell on this host, and reports what is lost without the\n"
		 "missing ones, and how to repair them.",
	.options = options,
	.options_count = ARRAY_SIZE(options),
	.notes = "Exit status: 0, the host has all that the policy requires; 1, something is\n"
		 "missing; 2, the command line or the policy is invalid.",
};

static void cleanup_policy(struct policy **policy)
{
	policy_free(*policy);
}

/* Of the policy's providers, the first that works here is the one to judge. */
static void choose_provider(struct policy *policy, struct diagnosis *diagnosis)
{
	diagnosis->provider_lacking = true;
	for (size_t i = 0; i < policy->candidates_count; i++) {
		const struct policy_candidate *one = &policy->candidates[i];
		size_t at = 0;
		while (providers[at] != one->provider) {
			at++;
		}
		if (!one->lack && diagnosis->survey.found[at].state != PROBE_MISSING) {
			policy->provider = one->provider;
			diagnosis->provider_lacking = false;
			return;
		}
	}
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
	diagnosis->ok = !diagnosis->lacking && !diagnosis->provider_lacking;
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
	_cleanup_(brig_context_freep)
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
	survey_providers(context, &diagnosis->report, &diagnosis->survey);
	choose_provider(policy, diagnosis);
	judge(diagnosis);
	doctor_try_warm(diagnosis);
	int status = print(diagnosis, args->json);
	return status != STATUS_OK ? status : diagnosis->ok ? STATUS_OK : STATUS_LACKING;
}

int command_doctor(int argc, char **argv)
{
	struct doctor_args args = { .policy = "default" };

	return command_work(&doctor_syntax, argc, argv, &args, diagnose);
}
