/* SPDX-License-Identifier: Apache-2.0 */
/* `brig help`, `brig version`, and the error about an unknown command. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/suggest.h"
#include "cli/cli.h"
#include "cli/cli_report.h"

static void overview(struct buf *text)
{
	buf_adds(text, "usage: brig COMMAND [ARGS...]\n\n"
		       "Runs untrusted code in a sealed cell, and reports how it ended.\n\n"
		       "Commands:\n");
	for (size_t i = 0; i < commands_count; i++) {
		buf_addf(text, "  %-10s %s\n", commands[i].name, commands[i].about);
	}
	buf_adds(text,
		 "\nbrig COMMAND --help explains a command; brig --version prints the version.\n"
		 "A first run: brig run -c 'print(6 * 7)'\n");
}

int command_unknown(int argc, char **argv)
{
	struct suggestion best = { 0 };
	struct brig_error error = { 0 };
	const char *name = argv[0];

	for (size_t i = 0; i < commands_count; i++) {
		suggest(&best, name, commands[i].name);
	}
	error_set(&error, BRIG_E_INPUT, EINVAL, "unknown command '%s'", name);
	if (name[0] == '-') {
		error_remedy(&error, "options come after the command: brig run %s", name);
	} else if (best.word) {
		error_remedy(&error, "did you mean %s? brig --help lists all", best.word);
	} else {
		error_remedy(&error,
			     "to run a file: brig run FILE; brig --help lists the commands");
	}
	return report_usage(&error, options_mention(argc, argv, "--json"));
}

int command_help(int argc, char **argv)
{
	_cleanup_(buf_done)
	struct buf text = { 0 };
	char word[] = "--help";

	if (argc > 1 && argv[1][0] != '-') {
		const struct command *command = command_find(argv[1]);
		if (!command) {
			return command_unknown(argc - 1, argv + 1);
		}
		if (command->syntax) {
			return command->main(2, (char *[]){ argv[1], word, NULL });
		}
	}
	overview(&text);
	return report_text(&text);
}

int command_version(int argc, char **argv)
{
	_cleanup_(buf_done)
	struct buf text = { 0 };

	(void)argc;
	(void)argv;
	buf_adds(&text, "brig " BRIG_VERSION "\n");
	return report_text(&text);
}
