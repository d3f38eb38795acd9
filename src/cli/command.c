/* SPDX-License-Identifier: Apache-2.0 */
/* Simple commands: see command.h. */
#include "cli/command.h"

#include "cli/report.h"

int command_simple(const struct syntax *syntax, int argc, char **argv, void *line,
		   int (*work)(const void *line, const char *operand))
{
	struct arguments given;
	struct brig_error error = { 0 };

	if (options_parse(syntax, argc, argv, line, &given, &error) < 0) {
		return report_usage(&error, options_mention(argc, argv, "--json"));
	}
	return given.help ? report_help(syntax)
			  : work(line, given.operands_count ? given.operands[0] : NULL);
}
