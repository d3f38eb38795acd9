/* SPDX-License-Identifier: Apache-2.0 */
/* The private mappings of this process, as /proc/self/maps lists them. */
#ifndef BRIG_TEMPLATE_MAPPINGS_H
#define BRIG_TEMPLATE_MAPPINGS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define MAPPING_PAGE_SHIFT 12

struct mapping {
	uint64_t first, end; /* pages */
	bool read, written;  /* may be */
	bool file;           /* of a file, with pages of its own where it was written */
};

/* For _cleanup_. */
void mappings_close(FILE **maps);
/* The next one that is not shared. `maps` is /proc/self/maps. */
bool mappings_next(FILE *maps, struct mapping *ret);
#endif
