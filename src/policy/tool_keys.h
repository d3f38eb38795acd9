/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys that the data files of tools (launchers, monitors of machines) have in common, and where
 * these files are: FOLDER/NAME.json of the operator's directory, else a built-in one.
 */
#ifndef BRIG_POLICY_TOOL_KEYS_H
#define BRIG_POLICY_TOOL_KEYS_H

#include "policy/policy_reader.h"
#include "policy/source.h"
#include "policy/words.h"

/* The file of a name. 1, 0 (not found, or no name) or negative. */
int tool_file_find(const struct policy_source *source, const char *folder, const char *name,
		   struct policy_text *ret, struct brig_error *err);
/* The names of built-in files, in order. */
int tool_file_names(const char *folder, struct strlist *ret);

/* An error at this place. -EINVAL. */
int tool_wrong(struct policy_reader *reader, const char *path, const char *what,
	       const char *remedy);
/* A short text. */
int tool_text(struct policy_reader *reader, const char *path, json_t *value, char **ret);
/* The name of a package. */
int tool_package(struct policy_reader *reader, const char *path, json_t *value, char **ret);
/* The name of a program, or its absolute path. */
int tool_program(struct policy_reader *reader, const char *path, json_t *value, char **ret);
/* Arguments with words; in contrast to read_strings(), with repeated ones. */
int tool_arguments(struct policy_reader *reader, const char *path, json_t *value,
		   const struct words *words, struct strlist *ret);
/* Is a text with words right? `path` is its place. */
int tool_check_words(struct policy_reader *reader, const char *path, const struct words *words,
		     const char *text);
/* The keys that a file must have. */
int tool_required(struct policy_reader *reader, const char *const *keys, size_t count);
#endif
