/* SPDX-License-Identifier: Apache-2.0 */
/* `brig policy list`: lists the available policies. */
#include "base/cleanup.h"
#include "cli/cli_report.h"
#include "cli/command.h"
#include "cli/policy/cli_policy.h"
#include "lib/prepare/inventory.h"

static int list(void *of, const struct arguments *given)
{
	const struct policy_args *args = of;
	_cleanup_free_ char *place = policy_args_place(args);
	struct policy_source source = { .config_dir = place };
	struct brig_error error = { 0 };
	_cleanup_(strlist_done)
	struct strlist names = { 0 };
	_cleanup_(buf_done)
	struct buf out = { 0 };

	(void)given;
	if (args->json) {
		int r = listing_print_policies(&source, &out, &error);
		return r < 0 ? report_error(&error, true)
			     : report_json(out.failed ? NULL : out.data);
	}
	if (policy_names(&source, &names, &error) < 0) {
		return report_error(&error, false);
	}
	for (size_t i = 0; i < names.count; i++) {
		_cleanup_(policy_freep)
		struct policy *policy = NULL;
		const char *about = "";

		/* One bad file must not hide the others. */
		if (policy_load(&source, names.items[i], &policy, &error) == 0) {
			about = policy->description ? policy->description : "";
		} else {
			about = error.message;
		}
		buf_addf(&out, "%-12s %s\n", names.items[i], about);
	}
	return report_text(&out);
}

static const struct option_info options[] = {
	POLICY_OPTIONS,
};

const struct syntax policy_list_syntax = {
	.command = "policy list",
	.usage = "policy [list] [OPTIONS]",
	.about = "Lists the available policies, and the purpose of each.",
	.options = options,
	.options_count = ARRAY_SIZE(options),
};

int policy_command_list(int argc, char **argv)
{
	struct policy_args args = { 0 };

	return command_work(&policy_list_syntax, argc, argv, &args, list);
}
