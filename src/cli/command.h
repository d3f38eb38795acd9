/* SPDX-License-Identifier: Apache-2.0 */
/* The way of simple commands: options into a line, at most one operand, then the work. */
#ifndef BRIG_CLI_COMMAND_H
#define BRIG_CLI_COMMAND_H

#include "cli/options.h"

/* The exit status. `line` is what the options fill; `operand` is NULL when there is none. */
int command_simple(const struct syntax *syntax, int argc, char **argv, void *line,
		   int (*work)(const void *line, const char *operand));
#endif
