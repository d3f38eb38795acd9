/* SPDX-License-Identifier: Apache-2.0 */
/* Taking files out of a cell after its end: out/ and named globs, and the list of changes. */
#ifndef BRIG_RUN_COLLECT_H
#define BRIG_RUN_COLLECT_H

#include "run/spec.h"

/* What all names may cost to match, as path_globs_find() counts it: half a second or so. */
#define COLLECT_WORK_MAX (64ull << 20)

struct collect_options {
	const char *const *globs; /* NULL-terminated; or NULL */
	uint64_t bytes_max;       /* all files together */
	uint64_t count_max;
	uint64_t since_ns; /* only files changed at or after this, by the clock of day; 0: all */
	bool changes;
	const struct spec_input *inputs; /* what was there at the start */
	size_t inputs_count;
	uint64_t work_max; /* 0: COLLECT_WORK_MAX */
};

/*
 * In steps, because the tree, the globs and the bytes are the program's to choose, and others wait
 * meanwhile. What is borrowed (the options' lists, the result) must stay until the last one.
 */
struct collection;
int collect_begin(int sandbox, const struct collect_options *options, struct brig_result *result,
		  struct collection **ret);
/*
 * Goes on until the deadline, a fraction of a millisecond more at most. 1: files, files_note and
 * changes of the result are there, and what cannot come back is named in the note; 0: there is
 * more to do; -errno.
 */
int collect_step(struct collection *collection, uint64_t deadline_ns);
/* At the end: is anything missing that was asked for? */
bool collect_is_cut(const struct collection *collection);
void collect_free(struct collection *collection);

/* All of it at once. */
int collect(int sandbox, const struct collect_options *options, struct brig_result *result);
#endif
