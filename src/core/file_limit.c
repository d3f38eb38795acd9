/* SPDX-License-Identifier: Apache-2.0 */
/* Did a file reach the size that a file may have? See file_limit.h. */
#include "core/file_limit.h"

#include "core/walk.h"

#define DIRECTORY_COST 8u

struct search {
	uint64_t limit_bytes;
	unsigned cost;
};

enum { FOUND = 1, ENOUGH = 2 };

static int look_at_file(void *user, const struct walk_entry *entry)
{
	struct search *search = user;

	if (S_ISREG(entry->stat->st_mode) &&
	    (uint64_t)entry->stat->st_size >= search->limit_bytes) {
		return FOUND;
	}
	search->cost += S_ISDIR(entry->stat->st_mode) ? DIRECTORY_COST : 1;
	return search->cost < FILE_LIMIT_FILES_MAX ? 0 : ENOUGH;
}

bool file_limit_reached(int sandbox, uint64_t limit_bytes)
{
	struct search search = { .limit_bytes = limit_bytes };
	struct walk_report report = { 0 };

	return walk_tree(sandbox, look_at_file, &search, &report) == FOUND;
}
