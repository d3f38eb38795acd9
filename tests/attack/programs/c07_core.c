/* SPDX-License-Identifier: Apache-2.0 */
/* C7: requests a core file, and dies of abort(). "outside": without dropping the limit before. */
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "say.h"

int main(int argc, char **argv)
{
	struct rlimit limit = { 1 << 20, 1 << 20 };

	try("raise", setrlimit(RLIMIT_CORE, &limit));
	getrlimit(RLIMIT_CORE, &limit);
	say("limit", "%lu %lu", (unsigned long)limit.rlim_cur, (unsigned long)limit.rlim_max);
	if (argc < 2 || strcmp(argv[1], "outside") != 0) {
		/* A helper of the host is started for a limit of 0, and not for one of 1. */
		limit = (struct rlimit){ 0, 0 };
		try("zero", setrlimit(RLIMIT_CORE, &limit));
		getrlimit(RLIMIT_CORE, &limit);
		say("then", "%lu", (unsigned long)limit.rlim_max);
	}
	try("dumpable", prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
	abort();
}
