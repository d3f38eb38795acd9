/* SPDX-License-Identifier: Apache-2.0 */
/* Files that come back from a run, written beneath a directory of the caller's. */
#ifndef BRIG_CLI_RUN_RUN_FILES_H
#define BRIG_CLI_RUN_RUN_FILES_H

#include <stdbool.h>

#include "base/error.h"

struct run_files_options {
	const char *dir;
	bool force; /* replace what is there already */
	bool exec;  /* keep the execute bits */
};

/*
 * Their names and modes were chosen by a program that nobody has read: no link is followed, nothing
 * that is there already is replaced unless `force`, nothing can be executed unless `exec`, nothing
 * is written outside of `dir`, and nothing ever into a git directory: git would run it.
 */
int run_files_write(const struct brig_result *result, const struct run_files_options *options,
		    struct brig_error *err);
/* What came back and where it is, what changed: lines on stderr. */
void run_files_report(const struct brig_result *result, bool written);
#endif
