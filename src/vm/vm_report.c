/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The figures of the guest's control group, in the last line of its report. They are the guest's
 * word: a program that has taken over its kernel can lie about its own run.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "vm/vm.h"
#include "vm_init/go.h"

/* Figures that no machine of brig's can have are lies. */
#define FIGURE_MAX (1ull << 53)

/* The number behind a name in the line. False: it is not there. */
static bool find_figure(const char *line, const char *name, uint64_t *ret)
{
	const char *at = strstr(line, name);
	char *end = NULL;

	if (!at) {
		return false;
	}
	at += strlen(name);
	*ret = strtoull(at, &end, 10);
	return end != at && *ret <= FIGURE_MAX;
}

void vm_report(struct run *run)
{
	const struct held_cell *held = held_of(run);
	const struct brig_limits *limits = &run->options.spec->limits;
	struct facts *facts = &run->facts;
	uint64_t oom = 0, memory = 0, refused = 0, processes = 0;
	const char *line = strstr(held->messages, VM_REPORT_HEAD);

	held_report(run);
	if (!line || !find_figure(line, " oom=", &oom) || !find_figure(line, " memory=", &memory) ||
	    !find_figure(line, " refused=", &refused) ||
	    !find_figure(line, " processes=", &processes)) {
		return;
	}
	facts->oom_kills += oom;
	facts->fork_refusals += refused;
	if (memory > facts->memory_peak_bytes) {
		facts->memory_peak_bytes =
			memory < limits->memory_bytes ? memory : limits->memory_bytes;
	}
	/* The agent is one. */
	if (processes > 1) {
		facts->processes_peak =
			processes - 1 < limits->processes ? processes - 1 : limits->processes;
	}
}
