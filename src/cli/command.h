/* SPDX-License-Identifier: Apache-2.0 */
/* The way of every command: options into a line, help if it was asked for, then the work. */
#ifndef BRIG_CLI_COMMAND_H
#define BRIG_CLI_COMMAND_H

#include "cli/options.h"

/* The exit status. `line` is what the options fill; what it owns stays the caller's to free. */
int command_work(const struct syntax *syntax, int argc, char **argv, void *line,
		 int (*work)(void *line, const struct arguments *given));
#endif
