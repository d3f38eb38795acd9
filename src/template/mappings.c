/* SPDX-License-Identifier: Apache-2.0 */
/* The private mappings of this process: see mappings.h. */
#include "template/mappings.h"

#include <stdlib.h>
#include <string.h>

/* A line of /proc/self/maps: FIRST-END FLAGS OFFSET DEVICE INODE ... */
static bool parse(const char *line, struct mapping *ret)
{
	char *at;
	uint64_t first = strtoull(line, &at, 16);

	if (*at != '-') {
		return false;
	}
	uint64_t end = strtoull(at + 1, &at, 16);
	if (strlen(at) < 6 || at[4] != 'p') {
		return false;
	}
	const char *device = strchr(at + 6, ' ');
	const char *inode = device ? strchr(device + 1, ' ') : NULL;
	if (!inode) {
		return false;
	}
	*ret = (struct mapping){
		.first = first >> MAPPING_PAGE_SHIFT,
		.end = end >> MAPPING_PAGE_SHIFT,
		.read = at[1] == 'r',
		.written = at[2] == 'w',
		.file = strtoull(inode, NULL, 10) != 0,
	};
	return true;
}

bool mappings_next(FILE *maps, struct mapping *ret)
{
	char line[4608];

	while (fgets(line, sizeof(line), maps)) {
		if (parse(line, ret)) {
			return true;
		}
	}
	return false;
}

void mappings_close(FILE **maps)
{
	if (*maps) {
		fclose(*maps);
	}
}
