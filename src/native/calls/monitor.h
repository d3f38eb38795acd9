/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The monitor of a policy, which records allowed calls: the calls themselves, and files by the
 * names under which they are opened. These records decide nothing: see watched_call.h.
 */
#ifndef BRIG_NATIVE_CALLS_MONITOR_H
#define BRIG_NATIVE_CALLS_MONITOR_H

#include "base/files/path.h"
#include "base/strlist.h"
#include "native/calls/watched_call.h"

struct monitor {
	bool on;
	struct call_set calls;
	const struct strlist *files; /* borrowed: patterns of absolute paths */
	struct path_globs *globs;    /* owned: the same, compiled; NULL: there are none */
	/* The cell has directories of the host, whose file system may block a lookup. */
	bool may_wait;
};

/* Compiles the patterns, which are matched for each call that opens a file. 0 or -ENOMEM. */
int monitor_init(struct monitor *monitor, const struct strlist *files);
void monitor_done(struct monitor *monitor);
/* Adds the calls that have to be watched for this monitor. */
void monitor_calls(const struct monitor *monitor, struct call_set *ret);
/*
 * The pattern that matches the file of this call, by its name or after links are resolved; NULL: it
 * opens no file, or none that is watched. `path` is absolute then, without empty parts, "." and
 * "..".
 */
const char *monitor_file(const struct monitor *monitor, const struct watched_call *call,
			 char path[WATCHED_PATH_MAX]);
/* Removes "", "." and ".." from an absolute path, by its text alone. */
void monitor_tidy(char *path);
#endif
