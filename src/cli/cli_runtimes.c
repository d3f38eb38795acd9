/* SPDX-License-Identifier: Apache-2.0 */
/* `brig runtimes`: lists the languages, and which of them this host has. */
#include <string.h>

#include "base/cleanup.h"
#include "cli/cli.h"
#include "cli/cli_report.h"
#include "cli/command.h"
#include "cli/exit_status.h"
#include "lib/prepare/inventory.h"

struct runtimes_args {
	bool json;
	const char *config;
};

static void print_text(struct runtime *const *all, size_t count, struct buf *out)
{
	buf_addf(out, "%-12s %-12s %s\n", "LANGUAGE", "VERSION", "PROGRAM");
	for (size_t i = 0; i < count; i++) {
		const struct runtime *runtime = all[i];

		if (runtime->generic) {
			continue;
		}
		if (runtime->program) {
			buf_addf(out, "%-12s %-12s %s\n", runtime->name,
				 runtime->version[0] ? runtime->version : "?", runtime->program);
		} else {
			buf_addf(out,
				 "%-12s %-12s not installed; to install it: apt-get install %s\n",
				 runtime->name, "-",
				 runtime->package_hint ? runtime->package_hint : runtime->name);
		}
	}
}

static int list(void *into, const struct arguments *given)
{
	const struct runtimes_args *args = into;
	struct brig_error error = { 0 };
	struct brig_context *context = NULL;
	struct runtime **all = NULL;
	size_t count = 0;
	_cleanup_(buf_done)
	struct buf out = { 0 };
	struct brig_context_options options = { .size = sizeof(options),
						.config_dir = args->config };
	int status;

	(void)given;
	if (brig_context_new(&options, &context, &error) < 0 ||
	    listing_load_runtimes(context, &all, &count, &error) < 0) {
		status = report_error(&error, args->json);
	} else if (args->json) {
		listing_print_runtimes(all, count, &out);
		status = report_json(out.failed ? NULL : out.data);
	} else {
		print_text(all, count, &out);
		status = report_text(&out);
	}
	listing_free_runtimes(all, count);
	brig_context_free(context);
	return status;
}

static const struct option_info options[] = {
	OPTION_FLAG("--json", offsetof(struct runtimes_args, json), "print JSON"),
	OPTION_DIRECTORY("--config", "DIR", offsetof(struct runtimes_args, config),
			 "the operator's runtimes (/etc/brig)"),
};

const struct syntax runtimes_syntax = {
	.command = "runtimes",
	.usage = "runtimes [OPTIONS]",
	.about = "Lists the languages that brig supports, with the version and the\n"
		 "program on this host for each, or how to install it.",
	.options = options,
	.options_count = ARRAY_SIZE(options),
};

int command_runtimes(int argc, char **argv)
{
	struct runtimes_args args = { 0 };

	return command_work(&runtimes_syntax, argc, argv, &args, list);
}
