/* SPDX-License-Identifier: Apache-2.0 */
/* The files beside a program: bringing them along, and saying so when one was missed. */
#ifndef BRIG_CLI_RUN_RUN_PROJECT_H
#define BRIG_CLI_RUN_RUN_PROJECT_H

#include "base/error.h"
#include "base/strlist.h"

#define PROJECT_FILES_MAX 4096u
#define PROJECT_DEPTH_MAX 16u

/*
 * Regular files of the directory that `file` lies in (NULL: the working directory) and below it,
 * but for `file` itself, hidden entries, __pycache__ and links. `names` are relative to it, `paths`
 * can be opened; both in the same order.
 */
int run_project_list(const char *file, struct strlist *names, struct strlist *paths,
		     struct brig_error *err);

/*
 * The end of what a program wrote to stderr names a module that it could not import: is that one a
 * file beside `file`? Its name, to be freed, or NULL. The text is a stranger's: all that can come
 * of it is the name of a file that is there.
 */
char *run_project_missing(const char *file, const char *text);
#endif
