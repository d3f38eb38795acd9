/* Taking files out of a cell after its end: out/ and named globs, and the list of changes. */
#ifndef BRIG_CORE_COLLECT_H
#define BRIG_CORE_COLLECT_H

#include "core/spec.h"

struct collect_options {
	const char *const *globs; /* NULL-terminated; or NULL */
	uint64_t bytes_max;       /* all files together */
	uint64_t count_max;
	uint64_t since_ns; /* only files changed at or after this, by the clock of day; 0: all */
	bool changes;
	const struct spec_input *inputs; /* what was there at the start */
	size_t inputs_count;
};

/* Fills files, files_note, changes of the result. What cannot come back is named in the note. */
int collect(int sandbox, const struct collect_options *options, struct brig_result *result);
#endif
