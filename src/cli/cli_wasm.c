/* SPDX-License-Identifier: Apache-2.0 */
/* `brig wasm prepare`: translates an interpreter of the provider wasm, once, before it is used. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/json/json_out.h"
#include "cli/cli.h"
#include "cli/cli_report.h"
#include "cli/command.h"
#include "cli/exit_status.h"
#include "lib/prepare/translate.h"

struct wasm_args {
	bool json, counted;
	const char *config, *policy;
};

static int print(const struct wasm_args *args, const char *path, bool there)
{
	_cleanup_(buf_done)
	struct buf out = { 0 };

	if (!args->json) {
		buf_addf(&out, "%s%s\n", path, there ? " (was there)" : "");
		return report_text(&out);
	}
	struct json_out json = { .buf = &out };
	json_open(&json, NULL, '{');
	json_text(&json, "path", path);
	json_bool(&json, "made", !there);
	json_close(&json, '}');
	return report_json(out.failed ? NULL : out.data);
}

static int prepare_language(const struct wasm_args *args, const char *language)
{
	const struct translation wanted = { .policy = args->policy ? args->policy : "default",
					    .language = language,
					    .counted = args->counted };
	struct brig_context_options options = { .size = sizeof(options),
						.config_dir = args->config };
	struct brig_context *context = NULL;
	struct brig_error error = { 0 };
	char path[PATH_MAX];
	int r = brig_context_new(&options, &context, &error);

	r = r < 0 ? r : translate(context, &wanted, path, &error);
	int status = r < 0 ? report_error(&error, args->json) : print(args, path, r == 1);
	brig_context_free(context);
	return status;
}

static int act(void *into, const struct arguments *given)
{
	const struct wasm_args *args = into;
	const char *word = given->operands_count ? given->operands[0] : "";
	struct brig_error error = { 0 };

	if (strcmp(word, "prepare") == 0) {
		return prepare_language(args,
					given->operands_count > 1 ? given->operands[1] : "python");
	}
	error_set(&error, BRIG_E_INPUT, EINVAL, "wasm: %s subcommand",
		  *word ? "unknown" : "missing");
	error_remedy(&error, "brig wasm prepare [LANGUAGE]");
	return report_usage(&error, args->json);
}

static const struct option_info options[] = {
	OPTION_TEXT("--policy", "NAME", &complete_policy, offsetof(struct wasm_args, policy),
		    "the policy with the provider wasm (default)"),
	OPTION_FLAG("--counted", offsetof(struct wasm_args, counted),
		    "for runs whose instructions are limited"),
	OPTION_FLAG("--json", offsetof(struct wasm_args, json), "print JSON"),
	OPTION_DIRECTORY("--config", "DIR", offsetof(struct wasm_args, config),
			 "the operator's policies and runtimes (/etc/brig)"),
};

static const struct {
	const char *word;
} actions[] = { { "prepare" } };
static const struct completion action_words = COMPLETE_COLUMN(actions, word);

const struct syntax wasm_syntax = {
	.command = "wasm",
	.usage = "wasm prepare [LANGUAGE] [OPTIONS]",
	.about = "Translates the interpreter of a language (python, ruby) of the provider wasm to\n"
		 "native code, in a cell, and keeps it beside the engine. Runs of that\n"
		 "language are refused before. Only the owner of that directory can do it.",
	.options = options,
	.options_count = ARRAY_SIZE(options),
	.operands_max = 2,
	.operands = &action_words,
};

int command_wasm(int argc, char **argv)
{
	struct wasm_args args = { 0 };

	return command_work(&wasm_syntax, argc, argv, &args, act);
}
