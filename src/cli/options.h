/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options as a table: one row drives parsing, the nearest-name hint and the help text. Forms:
 * --name VALUE, --name=VALUE, --flag; options and operands in any order; "--" ends both.
 */
#ifndef BRIG_CLI_OPTIONS_H
#define BRIG_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/error.h"

struct option_info {
	const char *name;  /* "--lang" */
	const char *value; /* the name of its value in the help: "LANGUAGE"; NULL: it takes none */
	const char *about;
	int (*take)(void *into, const struct option_info *option, const char *value,
		    struct brig_error *err);
	size_t offset;    /* of the field in `into`, for the functions below */
	const void *data; /* for custom functions */
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

struct syntax {
	const char *command; /* "run" */
	const char *usage;   /* one form per line, without the leading "brig " */
	const char *about;
	const struct option_info *options;
	size_t options_count;
	unsigned operands_max;
	bool rest;         /* "--" and words after it are allowed */
	const char *notes; /* end of the help text; or NULL */
};

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
