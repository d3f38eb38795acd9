/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks for free descriptors. A session holds about twenty of them for its whole life (its cell's
 * sockets, pipes, pidfds, directories and counters, and an epoll entry for each), a run about as
 * many while it runs. A start with too few would fail half-way; so they are checked before, and
 * sessions leave some for runs.
 */
#include <dirent.h>
#include <errno.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/error.h"
#include "engine/local/engine_local.h"

#define FOR_A_RUN      64u
#define FOR_RUNS       256u /* that sessions leave, if there are enough */
#define SHARE_FOR_RUNS 8u   /* otherwise this part of the total */

/* Before 6.2 the kernel did not report the number; then they are counted. */
static uint64_t count_open(void)
{
	struct stat info;
	uint64_t count = 0;

	if (stat("/proc/self/fd", &info) == 0 && info.st_size > 0) {
		return (uint64_t)info.st_size;
	}
	DIR *dir = opendir("/proc/self/fd");
	while (dir && readdir(dir)) {
		count++;
	}
	if (dir) {
		closedir(dir);
	}
	return dir ? count : 0;
}

static uint64_t wanted(enum engine_op op, uint64_t limit)
{
	uint64_t share = limit / SHARE_FOR_RUNS;

	if (op == ENGINE_SESSION_OPEN) {
		return FOR_A_RUN + (share < FOR_RUNS ? share : FOR_RUNS);
	}
	return op == ENGINE_EXECUTE ? FOR_A_RUN : 0;
}

int local_room(const struct engine_call *call, struct brig_error *err)
{
	struct rlimit limit = { 0 };

	if (wanted(call->op, 0) == 0 || getrlimit(RLIMIT_NOFILE, &limit) < 0 ||
	    limit.rlim_cur == RLIM_INFINITY ||
	    count_open() + wanted(call->op, limit.rlim_cur) <= limit.rlim_cur) {
		return 0;
	}
	int r = error_set(err, BRIG_E_SYSTEM, EMFILE,
			  "%llu descriptors are not enough for another %s",
			  (unsigned long long)limit.rlim_cur,
			  call->op == ENGINE_SESSION_OPEN ? "a session" : "a run");
	error_remedy(err, "raise the limit of open files (LimitNOFILE=), or allow less at once");
	return r;
}
