/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common part of every command: parses the options, shows help if requested, then does the
 * work.
 */
#ifndef BRIG_CLI_COMMAND_H
#define BRIG_CLI_COMMAND_H

#include <stddef.h>

#include "cli/options.h"

/* Which service to use: two options that all commands with a service share. */
#define SERVICE_OPTIONS(type, member)                                                              \
	OPTION_TEXT("--service", "URL", NULL, offsetof(type, member),                              \
		    "unix:PATH, http://HOST:PORT or https://HOST:PORT ($BRIG_URL)"),               \
		OPTION_TEXT("--socket", "PATH", &complete_file, offsetof(type, member),            \
			    "the service's unix socket ($BRIG_SOCKET)")

/*
 * Returns the exit status. `line` is the struct that the options fill; the caller frees its
 * contents.
 */
int command_work(const struct syntax *syntax, int argc, char **argv, void *line,
		 int (*work)(void *line, const struct arguments *given));
#endif
