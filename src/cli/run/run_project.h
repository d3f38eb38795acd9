/* SPDX-License-Identifier: Apache-2.0 */
/* The files next to a program: copies them, and hints at a missing one. */
#ifndef BRIG_CLI_RUN_RUN_PROJECT_H
#define BRIG_CLI_RUN_RUN_PROJECT_H

#include "base/error.h"
#include "base/strlist.h"

#define PROJECT_FILES_MAX 4096u
#define PROJECT_DEPTH_MAX 16u

/*
 * Regular files of the directory of `file` (NULL: the working directory) and below it, except
 * `file` itself, hidden entries, __pycache__ and links. `names` are relative to it, `paths` can be
 * opened; both in the same order.
 */
int run_project_list(const char *file, struct strlist *names, struct strlist *paths,
		     struct brig_error *err);

/*
 * If the end of a program's stderr names a module that it could not import, and that is a file next
 * to `file`: its name, to be freed; else NULL. The text is untrusted: the result can only be the
 * name of an existing file.
 */
char *run_project_missing(const char *file, const char *text);
#endif
