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
	const char *value; /* what help calls its value: "LANGUAGE"; NULL: it takes none */
	const char *about;
	int (*take)(void *into, const struct option_info *option, const char *value,
		    struct brig_error *err);
	size_t offset;    /* of the field in `into`, for the takers below */
	const void *data; /* for takers of one's own */
};

/* Takers: a bool, a const char *, the same for a directory that must be there, a struct strlist. */
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
	const char *usage;   /* one form a line: what stands behind "brig " */
	const char *about;
	const struct option_info *options;
	size_t options_count;
	unsigned operands_max;
	bool rest;         /* "--" and words behind it may be there */
	const char *notes; /* end of the help text; or NULL */
};

#define OPERANDS_MAX 2

struct arguments {
	const char *operands[OPERANDS_MAX];
	unsigned operands_count;
	char **rest; /* NULL-terminated words behind "--"; NULL: there was no "--" */
	bool help;   /* asked for: the rest of the line was not looked at */
};

/* -EINVAL with an error for people: the line is wrong. */
int options_parse(const struct syntax *syntax, int argc, char **argv, void *into,
		  struct arguments *ret, struct brig_error *err);
void options_help(const struct syntax *syntax, struct buf *out);

/* Is the flag on the line, in front of any "--"? For errors of lines that cannot be parsed. */
bool options_mention(int argc, char **argv, const char *flag);
#endif
