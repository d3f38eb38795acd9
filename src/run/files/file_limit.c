/* SPDX-License-Identifier: Apache-2.0 */
/* Detects files of the largest size allowed: see file_limit.h. */
#include "run/files/file_limit.h"

#include <stddef.h>

#include "kernel/walk.h"

#define DIRECTORY_COST 8u

static bool is_full(const struct walk_entry *entry, uint64_t limit_bytes)
{
	return S_ISREG(entry->stat->st_mode) && (uint64_t)entry->stat->st_size >= limit_bytes;
}

bool file_limit_reached(int sandbox, uint64_t limit_bytes)
{
	struct walk *walk = NULL;
	struct walk_entry entry;
	unsigned directories = 0;
	bool full = false;
	/* 2: only names that are no entries, which cost as much. */
	int r = walk_new(sandbox, &walk) == 0 ? 2 : 0;

	while (r > 0 && !full &&
	       walk_names(walk) + directories * (DIRECTORY_COST - 1) < FILE_LIMIT_FILES_MAX) {
		r = walk_next(walk, &entry);
		full = r == 1 && is_full(&entry, limit_bytes);
		directories += r == 1 && S_ISDIR(entry.stat->st_mode);
	}
	walk_free(walk);
	return full;
}
