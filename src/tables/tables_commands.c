/* SPDX-License-Identifier: Apache-2.0 */
/* The commands, their options and how shells complete them. */
#include "base/cleanup.h"
#include "cli/cli.h"
#include "tables/tables.h"

static void add_completion(struct json_out *out, const char *key,
			   const struct completion *completion)
{
	static const char *const kinds[] = {
		[COMPLETE_FILE] = "file",         [COMPLETE_DIRECTORY] = "directory",
		[COMPLETE_LANGUAGE] = "language", [COMPLETE_POLICY] = "policy",
		[COMPLETE_WORDS] = "words",
	};

	if (!completion) {
		json_nil(out, key);
		return;
	}
	json_open(out, key, '{');
	json_text(out, "kind", kinds[completion->kind]);
	json_open(out, "words", '[');
	const char *word;
	for (size_t i = 0; (word = completion_word(completion, i)) != NULL; i++) {
		json_text(out, NULL, word);
	}
	json_close(out, ']');
	json_close(out, '}');
}

static void add_options(struct json_out *out, const struct syntax *syntax)
{
	struct option_info room[OPTIONS_MAX];
	struct option_rows options = syntax_options(syntax, room);

	json_open(out, "options", '[');
	for (size_t i = 0; i < options.count; i++) {
		const struct option_info *option = &options.items[i];

		json_open(out, NULL, '{');
		json_text(out, "name", option->name);
		json_text(out, "value", option->value);
		json_text(out, "about", option->about);
		json_bool(out, "repeats", option->repeats);
		add_completion(out, "complete", option->complete);
		json_close(out, '}');
	}
	json_close(out, ']');
}

/* At most one level of actions: each ends the recursion. */
static void add_commands(struct json_out *out, const char *key, const struct command *items,
			 size_t count)
{
	json_open(out, key, '[');
	for (size_t i = 0; i < count; i++) {
		const struct syntax *syntax = items[i].syntax;

		json_open(out, NULL, '{');
		json_text(out, "name", items[i].name);
		json_text(out, "about", items[i].about);
		if (syntax) {
			json_text(out, "command", syntax->command);
			add_options(out, syntax);
			add_completion(out, "operands", syntax->operands);
			add_commands(out, "actions", syntax->actions, syntax->actions_count);
		}
		json_close(out, '}');
	}
	json_close(out, ']');
}

void tables_commands(struct json_out *out)
{
	add_commands(out, "commands", commands, commands_count);
}
