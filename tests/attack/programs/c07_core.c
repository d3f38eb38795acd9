/* SPDX-License-Identifier: Apache-2.0 */
/* C7: a core file; with "raise" after asking for one as large as can be. */
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "say.h"

int main(int argc, char **argv)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };

	if (argc > 1 && strcmp(argv[1], "raise") == 0) {
		limit.rlim_max = 1 << 20;
		limit.rlim_cur = limit.rlim_max;
	}
	try("raise", setrlimit(RLIMIT_CORE, &limit));
	getrlimit(RLIMIT_CORE, &limit);
	say("limit", "%lu %lu", (unsigned long)limit.rlim_cur, (unsigned long)limit.rlim_max);
	/* A helper of the host is started for a limit of 0, and not for one of 1: see core(5). */
	limit = (struct rlimit){ 0, 0 };
	try("zero", setrlimit(RLIMIT_CORE, &limit));
	getrlimit(RLIMIT_CORE, &limit);
	say("then", "%lu", (unsigned long)limit.rlim_max);
	try("dumpable", prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
	abort();
}
