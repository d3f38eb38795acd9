/* SPDX-License-Identifier: Apache-2.0 */
/* The common part of every command: see command.h. */
#include "cli/command.h"

#include <string.h>

#include "cli/cli_report.h"

/* With --json, for a command that has it, errors of the command line are JSON as well. */
static bool wants_json(const struct syntax *syntax, int argc, char **argv)
{
	struct option_info room[OPTIONS_MAX];
	struct option_rows options = syntax_options(syntax, room);

	for (size_t i = 0; i < options.count; i++) {
		if (strcmp(options.items[i].name, "--json") == 0) {
			return options_mention(argc, argv, "--json");
		}
	}
	return false;
}

int command_work(const struct syntax *syntax, int argc, char **argv, void *line,
		 int (*work)(void *line, const struct arguments *given))
{
	struct arguments given;
	struct brig_error error = { 0 };

	if (options_parse(syntax, argc, argv, line, &given, &error) < 0) {
		return report_usage(&error, wants_json(syntax, argc, argv));
	}
	return given.help ? report_help(syntax) : work(line, &given);
}
