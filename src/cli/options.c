/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing by table: see options.h. */
#include "cli/options.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/strlist.h"
#include "base/suggest.h"
#include "cli/option_hints.h"
#include "provider/provider.h"

const struct completion complete_file = { .kind = COMPLETE_FILE };
const struct completion complete_directory = { .kind = COMPLETE_DIRECTORY };
const struct completion complete_language = { .kind = COMPLETE_LANGUAGE };
const struct completion complete_policy = { .kind = COMPLETE_POLICY };

static const char *provider_name(size_t index)
{
	return providers[index] ? providers[index]->name : NULL;
}
const struct completion complete_provider = { .kind = COMPLETE_WORDS, .word = provider_name };

const char *completion_word(const struct completion *completion, size_t index)
{
	const char *words = (const char *)completion->words;

	if (completion->word) {
		return completion->word(index);
	}
	if (index >= completion->count) {
		return NULL;
	}
	return *(const char *const *)(const void *)(words + index * completion->stride);
}

struct option_rows syntax_options(const struct syntax *syntax, struct option_info room[OPTIONS_MAX])
{
	if (syntax->make_options) {
		return (struct option_rows){ room, syntax->make_options(room) };
	}
	return (struct option_rows){ syntax->options, syntax->options_count };
}

/* A command line that is being parsed. */
struct parsing {
	const struct syntax *syntax;
	struct option_rows options;
	void *into;
};

static void *field_of(void *into, const struct option_info *option)
{
	return (char *)into + option->offset;
}

int option_take_flag(void *into, const struct option_info *option, const char *value,
		     struct brig_error *err)
{
	(void)value;
	(void)err;
	*(bool *)field_of(into, option) = true;
	return 0;
}

int option_take_text(void *into, const struct option_info *option, const char *value,
		     struct brig_error *err)
{
	(void)err;
	*(const char **)field_of(into, option) = value;
	return 0;
}

int option_take_directory(void *into, const struct option_info *option, const char *value,
			  struct brig_error *err)
{
	struct stat info;
	int errnum = stat(value, &info) < 0 ? errno : S_ISDIR(info.st_mode) ? 0 : ENOTDIR;

	if (errnum) {
		int r = error_errno(err, BRIG_E_INPUT, errnum, "%s %s", option->name, value);
		error_remedy(err, "give an existing directory");
		return r;
	}
	return option_take_text(into, option, value, err);
}

int option_take_list(void *into, const struct option_info *option, const char *value,
		     struct brig_error *err)
{
	if (strlist_add(field_of(into, option), value) < 0) {
		return error_set(err, BRIG_E_SYSTEM, ENOMEM, "no memory for options");
	}
	return 0;
}

static const struct option_info *find(const struct option_rows *options, const char *name,
				      size_t length)
{
	for (size_t i = 0; i < options->count; i++) {
		const struct option_info *option = &options->items[i];
		if (strncmp(option->name, name, length) == 0 && option->name[length] == '\0') {
			return option;
		}
	}
	return NULL;
}

static int unknown_option(const struct parsing *parsing, const char *name, size_t length,
			  struct brig_error *err)
{
	const struct syntax *syntax = parsing->syntax;
	struct suggestion best = { 0 };
	char word[64];

	size_t size = length < sizeof(word) - 1 ? length : sizeof(word) - 1;
	memcpy(word, name, size);
	word[size] = '\0';
	for (size_t i = 0; i < parsing->options.count; i++) {
		suggest(&best, word, parsing->options.items[i].name);
	}
	suggest(&best, word, "--help");
	int r = error_set(err, BRIG_E_INPUT, EINVAL, "%s: unknown option %s", syntax->command,
			  word);
	const char *hint = option_hint(syntax->command, word);
	if (hint) {
		error_remedy(err, "%s", hint);
	} else if (best.word) {
		error_remedy(err, "did you mean %s? brig %s --help lists all", best.word,
			     syntax->command);
	} else {
		error_remedy(err, "brig %s --help lists all options", syntax->command);
	}
	return r;
}

/* One option at argv[at]; *ret is the index of the next word. */
static int take_option(const struct parsing *parsing, char **argv, int at, int *ret,
		       struct brig_error *err)
{
	const char *command = parsing->syntax->command;
	const char *word = argv[at];
	size_t length = strncmp(word, "--", 2) == 0 ? strcspn(word, "=") : strlen(word);
	const char *value = word[length] == '=' ? word + length + 1 : NULL;
	const struct option_info *option = find(&parsing->options, word, length);

	if (!option) {
		return unknown_option(parsing, word, length, err);
	}
	*ret = at + 1;
	if (!option->value && value) {
		int r = error_set(err, BRIG_E_INPUT, EINVAL, "%s: %s takes no value", command,
				  option->name);
		error_remedy(err, "write %s alone", option->name);
		return r;
	}
	if (option->value && !value) {
		value = argv[at + 1];
		if (!value || strcmp(value, "--") == 0) {
			int r = error_set(err, BRIG_E_INPUT, EINVAL, "%s: %s needs a value",
					  command, option->name);
			error_remedy(err, "write %s %s", option->name, option->value);
			return r;
		}
		*ret = at + 2;
	}
	return option->take(parsing->into, option, value, err);
}

static int take_operand(const struct syntax *syntax, const char *word, struct arguments *ret,
			struct brig_error *err)
{
	if (ret->operands_count < syntax->operands_max) {
		ret->operands[ret->operands_count++] = word;
		return 0;
	}
	int r = error_set(err, BRIG_E_INPUT, EINVAL, "%s: unexpected argument '%s'",
			  syntax->command, word);
	if (syntax->rest) {
		error_remedy(err, "put arguments of the program after --, as in: brig %s %s -- %s",
			     syntax->command, ret->operands_count ? ret->operands[0] : "FILE",
			     word);
	} else {
		error_remedy(err, "brig %s --help shows the usage", syntax->command);
	}
	return r;
}

static bool is_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

int options_parse(const struct syntax *syntax, int argc, char **argv, void *into,
		  struct arguments *ret, struct brig_error *err)
{
	struct option_info room[OPTIONS_MAX];
	const struct parsing parsing = { syntax, syntax_options(syntax, room), into };

	*ret = (struct arguments){ 0 };
	for (int i = 1; i < argc;) {
		const char *word = argv[i];
		int r = 0;

		if (strcmp(word, "--") == 0 && syntax->rest) {
			ret->rest = argv + i + 1;
			return 0;
		}
		if (is_help(word)) {
			ret->help = true;
			return 0;
		}
		if (word[0] != '-' || word[1] == '\0') {
			r = take_operand(syntax, word, ret, err);
			i++;
		} else {
			r = take_option(&parsing, argv, i, &i, err);
		}
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

bool options_mention(int argc, char **argv, const char *flag)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++) {
		if (strcmp(argv[i], flag) == 0) {
			return true;
		}
	}
	return false;
}
