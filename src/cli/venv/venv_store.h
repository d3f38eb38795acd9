/* SPDX-License-Identifier: Apache-2.0 */
/* The user's own virtualenvs, by name: venvs/ in the user's data directory. */
#ifndef BRIG_CLI_VENV_VENV_STORE_H
#define BRIG_CLI_VENV_VENV_STORE_H

#include "base/error.h"
#include "base/strlist.h"

/* The path of a name, or an absolute path of a path; free it. A word with a slash is a path. */
int venv_store_path(const char *word, char **ret, struct brig_error *err);
/* Makes the directories above it. */
int venv_store_make_parents(const char *path, struct brig_error *err);
/* The names, in order; none if there is no such directory. */
int venv_store_names(struct strlist *ret, struct brig_error *err);
/* Removes a directory with everything in it; links are not followed. */
int venv_store_remove(const char *path, struct brig_error *err);
#endif
