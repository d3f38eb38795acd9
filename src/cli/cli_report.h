/* SPDX-License-Identifier: Apache-2.0 */
/* brig's own output: texts and JSON on stdout, one-line reports on stderr. */
#ifndef BRIG_CLI_CLI_REPORT_H
#define BRIG_CLI_CLI_REPORT_H

#include <stdbool.h>

#include "base/bytes/buf.h"
#include "cli/options.h"

/*
 * Prints everything on stdout, escaped on a terminal. Returns an exit status: 0, or that writing
 * failed.
 */
int report_text(const struct buf *text);
/* A text for programs, ended by a newline. */
int report_json(const char *json);

/* "brig: ..." on stderr; escaped on a terminal. */
void report_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The error as text on stderr or as JSON on stdout; returns the matching exit status. */
int report_error(const struct brig_error *error, bool json);
/* The same for an invalid command line. */
int report_usage(const struct brig_error *error, bool json);
int report_help(const struct syntax *syntax);

/* Why a run ended, unless it just exited: one line on stderr. */
void report_verdict(const struct brig_result *result);
/* The resources that it used: one line on stderr. */
void report_usage_figures(const struct brig_result *result);
#endif
