/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a run returns, written below a directory of the caller. */
#ifndef BRIG_CLI_RUN_RUN_FILES_H
#define BRIG_CLI_RUN_RUN_FILES_H

#include <stdbool.h>

#include "base/error.h"

struct run_files_options {
	const char *dir;
	bool force; /* replace existing files */
	bool exec;  /* keep the execute bits */
};

/*
 * Their names and modes were chosen by an untrusted program: no link is followed, no existing file
 * is replaced unless `force`, no file is executable unless `exec`, nothing is written outside of
 * `dir`, and nothing ever into a git directory: git would run it.
 */
int run_files_write(const struct brig_result *result, const struct run_files_options *options,
		    struct brig_error *err);
/* The returned files and their location, and the changes: lines on stderr. */
void run_files_report(const struct brig_result *result, bool written);
#endif
