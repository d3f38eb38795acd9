/* SPDX-License-Identifier: Apache-2.0 */
/* `brig policy show`: prints a policy with all defaults filled in. */
#include "base/cleanup.h"
#include "cli/cli_report.h"
#include "cli/command.h"
#include "cli/policy/cli_policy.h"
#include "cli/policy/policy_print.h"

static int show(void *of, const struct arguments *given)
{
	const struct policy_args *args = of;
	const char *name = given->operands_count ? given->operands[0] : "default";
	_cleanup_free_ char *place = policy_args_place(args);
	struct policy_source source = { .config_dir = place };
	struct brig_error error = { 0 };
	_cleanup_(policy_freep)
	struct policy *policy = NULL;
	_cleanup_(buf_done)
	struct buf out = { 0 };

	if (policy_load(&source, name, &policy, &error) < 0) {
		return report_error(&error, args->json);
	}
	if (args->json) {
		policy_print_json(policy, &out);
		return report_json(out.failed ? NULL : out.data);
	}
	policy_print(policy, &out);
	return report_text(&out);
}

static const struct option_info options[] = {
	POLICY_OPTIONS,
};

const struct syntax policy_show_syntax = {
	.command = "policy show",
	.usage = "policy show [NAME] [OPTIONS]",
	.about = "Shows a policy (default: default), with all defaults filled in.",
	.options = options,
	.options_count = ARRAY_SIZE(options),
	.operands_max = 1,
	.operands = &complete_policy,
};

int policy_command_show(int argc, char **argv)
{
	struct policy_args args = { 0 };

	return command_work(&policy_show_syntax, argc, argv, &args, show);
}
