/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a policy wants to know of calls that it allows: the calls themselves, and files by the names
 * under which they are opened. What is noted decides nothing: see watched.h.
 */
#ifndef BRIG_NATIVE_MONITOR_H
#define BRIG_NATIVE_MONITOR_H

#include "base/path.h"
#include "base/strlist.h"
#include "native/watched.h"

struct monitor {
	bool on;
	struct call_set calls;
	const struct strlist *files; /* borrowed: patterns of absolute paths */
	struct path_globs *globs;    /* owned: the same, compiled; NULL: there are none */
	/* The cell has directories of the host, whose file system may make whoever looks wait. */
	bool may_wait;
};

/* Compiles the patterns, which each call that opens a file then meets. 0 or -ENOMEM. */
int monitor_init(struct monitor *monitor, const struct strlist *files);
void monitor_done(struct monitor *monitor);
/* Adds the calls that have to be watched for it. */
void monitor_calls(const struct monitor *monitor, struct call_set *ret);
/*
 * The pattern that the file of this call falls under, by its name or by where links lead from
 * there; NULL: it opens none, or none that is watched. `path` is absolute then, without empty
 * parts, "." and "..".
 */
const char *monitor_file(const struct monitor *monitor, const struct watched_call *call,
			 char path[WATCHED_PATH_MAX]);
/* Takes "", "." and ".." out of an absolute path, by its text alone. */
void monitor_tidy(char *path);
#endif
