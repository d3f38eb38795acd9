/* SPDX-License-Identifier: Apache-2.0 */
/* The way of every command: options into a line, help if it was asked for, then the work. */
#ifndef BRIG_CLI_COMMAND_H
#define BRIG_CLI_COMMAND_H

#include <stddef.h>

#include "cli/options.h"

/* Which service is asked: two words that all commands share which ask one. */
#define SERVICE_OPTIONS(type, member)                                                              \
	{ "--service",                                                                             \
	  "URL",                                                                                   \
	  "unix:PATH, http://HOST:PORT or https://HOST:PORT ($BRIG_URL)",                          \
	  option_take_text,                                                                        \
	  offsetof(type, member),                                                                  \
	  NULL },                                                                                  \
	{                                                                                          \
		"--socket", "PATH", "the service's unix socket ($BRIG_SOCKET)", option_take_text,  \
			offsetof(type, member), NULL                                               \
	}

/* The exit status. `line` is what the options fill; what it owns stays the caller's to free. */
int command_work(const struct syntax *syntax, int argc, char **argv, void *line,
		 int (*work)(void *line, const struct arguments *given));
#endif
