/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options as a table: one row drives parsing, the nearest-name hint, the help text, the completions
 * of shells and the manual (src/tables). Forms: --name VALUE, --name=VALUE, --flag; options and
 * operands in any order; "--" ends both.
 */
#ifndef BRIG_CLI_OPTIONS_H
#define BRIG_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes/buf.h"
#include "base/error.h"

/* How a shell completes a value or an operand. */
enum complete_kind {
	COMPLETE_FILE,
	COMPLETE_DIRECTORY,
	COMPLETE_LANGUAGE,
	COMPLETE_POLICY,
	COMPLETE_WORDS
};
struct completion {
	enum complete_kind kind;
	/* COMPLETE_WORDS: a column of the table that the program itself looks them up in. */
	const char *const *words;
	size_t stride, count;
	const char *(*word)(size_t index); /* instead of them; NULL behind the last */
};
extern const struct completion complete_file, complete_directory, complete_language,
	complete_policy, complete_provider;

/* The words of `member` in all rows of a table; of a table of plain texts: see COMPLETE_NAMES. */
#define COMPLETE_COLUMN(table, member)                                                             \
	{                                                                                          \
		COMPLETE_WORDS, &(table)[0].member, sizeof((table)[0]), ARRAY_SIZE(table), NULL    \
	}
#define COMPLETE_NAMES(table)                                                                      \
	{                                                                                          \
		COMPLETE_WORDS, &(table)[0], sizeof((table)[0]), ARRAY_SIZE(table), NULL           \
	}
/* NULL: there are no more. */
const char *completion_word(const struct completion *completion, size_t index);

struct option_info {
	const char *name;  /* "--lang" */
	const char *value; /* the name of its value in the help: "LANGUAGE"; NULL: it takes none */
	const char *about;
	int (*take)(void *into, const struct option_info *option, const char *value,
		    struct brig_error *err);
	size_t offset;                     /* of the field in `into`, for the functions below */
	const void *data;                  /* for custom functions */
	const struct completion *complete; /* NULL: the value cannot be completed */
	bool repeats;                      /* it may be given several times */
};

/*
 * Functions that store a value: a bool, a const char *, the same for an existing directory, a
 * struct strlist.
 */
int option_take_flag(void *into, const struct option_info *option, const char *value,
		     struct brig_error *err);
int option_take_text(void *into, const struct option_info *option, const char *value,
		     struct brig_error *err);
int option_take_directory(void *into, const struct option_info *option, const char *value,
			  struct brig_error *err);
int option_take_list(void *into, const struct option_info *option, const char *value,
		     struct brig_error *err);

/* Rows with these functions. `place_`: offsetof() the field. */
#define OPTION_FLAG(name_, place_, about_)                                                         \
	{                                                                                          \
		.name = (name_), .about = (about_), .take = option_take_flag, .offset = (place_)   \
	}
#define OPTION_TEXT(name_, value_, complete_, place_, about_)                                      \
	{                                                                                          \
		.name = (name_), .value = (value_), .about = (about_), .take = option_take_text,   \
		.offset = (place_), .complete = (complete_)                                        \
	}
#define OPTION_DIRECTORY(name_, value_, place_, about_)                                            \
	{                                                                                          \
		.name = (name_), .value = (value_), .about = (about_),                             \
		.take = option_take_directory, .offset = (place_), .complete = &complete_directory \
	}
#define OPTION_LIST(name_, value_, complete_, place_, about_)                                      \
	{                                                                                          \
		.name = (name_), .value = (value_), .about = (about_), .take = option_take_list,   \
		.offset = (place_), .complete = (complete_), .repeats = true                       \
	}

#define OPTIONS_MAX 64

struct command; /* cli.h */

struct syntax {
	const char *command; /* "run" */
	const char *usage;   /* one form per line, without the leading "brig " */
	const char *about;
	const struct option_info *options;
	size_t options_count;
	/* Instead of a table: makes the rows from other tables, and returns how many. */
	size_t (*make_options)(struct option_info ret[OPTIONS_MAX]);
	unsigned operands_max;
	const struct completion *operands; /* NULL: an operand cannot be completed */
	const struct command *actions; /* commands of their own, by the first operand; or NULL */
	size_t actions_count;
	bool rest;         /* "--" and words after it are allowed */
	const char *notes; /* end of the help text; or NULL */
};

struct option_rows {
	const struct option_info *items;
	size_t count;
};
/* `room` has the rows if they are made. */
struct option_rows syntax_options(const struct syntax *syntax,
				  struct option_info room[OPTIONS_MAX]);

#define OPERANDS_MAX 2

struct arguments {
	const char *operands[OPERANDS_MAX];
	unsigned operands_count;
	char **rest; /* NULL-terminated words after "--"; NULL: there was no "--" */
	bool help;   /* help was requested: the other words were not parsed */
};

/* -EINVAL with an error for people: the command line is invalid. */
int options_parse(const struct syntax *syntax, int argc, char **argv, void *into,
		  struct arguments *ret, struct brig_error *err);
void options_help(const struct syntax *syntax, struct buf *out);

/* Is the flag on the command line, before any "--"? For errors of lines that cannot be parsed. */
bool options_mention(int argc, char **argv, const char *flag);
#endif
