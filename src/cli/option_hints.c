/* SPDX-License-Identifier: Apache-2.0 */
/* Options that people know from other tools: see option_hints.h. */
#include "cli/option_hints.h"

#include <string.h>

#include "base/cleanup.h"

static const struct {
	const char *command, *option, *remedy;
} hints[] = {
	{ "run", "-v",
	  "mount a directory with --ro [NAME=]DIR, or --rw [NAME=]DIR to write to it" },
	{ "run", "--volume", "mount a directory with --ro [NAME=]DIR or --rw [NAME=]DIR" },
	{ "run", "--mount", "mount a directory with --ro [NAME=]DIR or --rw [NAME=]DIR" },
	{ "run", "-e", "set a variable with --env NAME=VALUE" },
	{ "run", "--network", "allow a host with --net HOST:PORT; without it there is no network" },
	{ "run", "-m", "limit memory with --memory SIZE" },
	{ "run", "--cpus", "limit the share of the processors with --cpu CORES" },
	{ "run", "--pids-limit", "limit processes and threads with --processes NUMBER" },
	{ "run", "--rm", "leave it out: a cell is always removed when its run ends" },
	{ "run", "-i", "leave it out: stdin always passes through; for a terminal write -it" },
	{ "run", "-t", "for a terminal write -it" },
	{ "run", "-ti", "for a terminal write -it" },
	{ "run", "-l", "name the language with --lang LANGUAGE" },
	{ "run", "--language", "name the language with --lang LANGUAGE" },
	{ "run", "--workdir", "leave it out: a program always starts in /sandbox" },
	{ "run", "-w", "leave it out: a program always starts in /sandbox" },
};

const char *option_hint(const char *command, const char *option)
{
	for (size_t i = 0; i < ARRAY_SIZE(hints); i++) {
		if (strcmp(hints[i].command, command) == 0 &&
		    strcmp(hints[i].option, option) == 0) {
			return hints[i].remedy;
		}
	}
	return NULL;
}
