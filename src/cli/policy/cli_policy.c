/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `brig policy`: finds the action and passes it the other words. Each action is a command of its
 * own, with its own options and help: see cli_policy.h.
 */
#include "cli/policy/cli_policy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/suggest.h"
#include "cli/cli.h"
#include "cli/cli_report.h"

static const struct command actions[] = {
	{ "list", "list the policies", policy_command_list, &policy_list_syntax },
	{ "show", "show a policy with all defaults filled in", policy_command_show,
	  &policy_show_syntax },
	{ "check", "check a file, or ask what a policy allows", policy_command_check,
	  &policy_check_syntax },
	{ "learn", "propose a policy for a program", policy_command_learn, &policy_learn_syntax },
};

static const struct option_info options[] = {
	POLICY_OPTIONS,
};

const struct syntax policy_syntax = {
	.command = "policy",
	.usage = "policy [list] [OPTIONS]\npolicy show [NAME] [OPTIONS]\n"
		 "policy check FILE [OPTIONS]\n"
		 "policy check [FILE | --policy NAME] QUESTION... [OPTIONS]\n"
		 "policy learn [OPTIONS] FILE|-- CMD [ARGS...]",
	.about = "Lists the policies, shows one with all defaults filled in, checks a\n"
		 "file, tells whether a policy allows something, or learns one from a\n"
		 "program.",
	.options = options,
	.options_count = ARRAY_SIZE(options),
	.actions = actions,
	.actions_count = ARRAY_SIZE(actions),
	.notes = "brig policy ACTION --help explains an action and lists its options.",
};

static int unknown_action(const char *name, bool json)
{
	struct suggestion best = { 0 };
	struct brig_error error = { 0 };
	_cleanup_(buf_done)
	struct buf names = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		const char *mark = i == 0 ? "" : i + 1 < ARRAY_SIZE(actions) ? ", " : " and ";

		suggest(&best, name, actions[i].name);
		buf_addf(&names, "%s%s", mark, actions[i].name);
	}
	error_set(&error, BRIG_E_INPUT, EINVAL, "policy: unknown action '%s'", name);
	error_remedy(&error, "%s%s%sactions are %s", best.word ? "did you mean " : "",
		     best.word ? best.word : "", best.word ? "? " : "",
		     names.data ? names.data : "");
	return report_usage(&error, json);
}

/* Is the next word its value? An option has the same meaning for all actions that have it. */
static bool takes_value(const char *word)
{
	struct option_info room[OPTIONS_MAX];

	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		struct option_rows rows = syntax_options(actions[i].syntax, room);

		for (size_t left = rows.count; left > 0; left--) {
			const struct option_info *option = &rows.items[left - 1];
			if (option->value && strcmp(option->name, word) == 0) {
				return true;
			}
		}
	}
	return false;
}

/* The first word that is not an option and not an option's value; 0: there is none. */
static int find_action(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (argv[i][0] != '-') {
			return i;
		}
		i += takes_value(argv[i]);
	}
	return 0;
}

/* The command line without the action's word, which may come after options. */
static int act(const struct command *action, int argc, char **argv, int at)
{
	_cleanup_free_ char **words = calloc((size_t)argc + 1, sizeof(*words));
	struct brig_error error = { 0 };
	int count = 0;

	if (!words) {
		error_set(&error, BRIG_E_SYSTEM, ENOMEM, "no memory for options");
		return report_error(&error, false);
	}
	for (int i = 0; i < argc; i++) {
		if (at == 0 || i != at) {
			words[count++] = argv[i];
		}
	}
	return action->main(count, words);
}

static bool asks_help(int argc, char **argv, int before)
{
	for (int i = 1; i < (before ? before : argc) && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
			return true;
		}
	}
	return false;
}

int command_policy(int argc, char **argv)
{
	int at = find_action(argc, argv);
	const char *name = at ? argv[at] : "list";

	if (asks_help(argc, argv, at)) {
		return report_help(&policy_syntax);
	}
	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		if (strcmp(actions[i].name, name) == 0) {
			return act(&actions[i], argc, argv, at);
		}
	}
	return unknown_action(name, options_mention(argc, argv, "--json"));
}
