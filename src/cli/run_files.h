/* SPDX-License-Identifier: Apache-2.0 */
/* Files that come back from a run, written beneath a directory of the caller's. */
#ifndef BRIG_CLI_RUN_FILES_H
#define BRIG_CLI_RUN_FILES_H

#include <stdbool.h>

#include "base/error.h"

/*
 * Their names were chosen by a program that nobody has read: no link is followed, nothing that is
 * there already is replaced unless `force`, nothing is written outside of `dir`.
 */
int run_files_write(const struct brig_result *result, const char *dir, bool force,
		    struct brig_error *err);
/* What came back and where it is, what changed: lines on stderr. */
void run_files_report(const struct brig_result *result, bool written);
#endif
