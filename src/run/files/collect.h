/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects files from a cell after its end: out/, files that match the caller's globs, and the list
 * of changes.
 */
#ifndef BRIG_RUN_FILES_COLLECT_H
#define BRIG_RUN_FILES_COLLECT_H

#include "kernel/walk.h"
#include "run/spec/spec.h"

/*
 * The bound on the work of matching all names, as path_globs_find() counts it: about half a second.
 */
#define COLLECT_WORK_MAX (64ull << 20)

struct collect_options {
	const char *const *globs; /* NULL-terminated; or NULL */
	uint64_t bytes_max;       /* all files together */
	uint64_t count_max;
	uint64_t since_ns; /* only files changed at or after this time (realtime clock); 0: all */
	bool changes;
	const struct spec_input *inputs; /* the files at the start */
	size_t inputs_count;
	uint64_t work_max; /* 0: COLLECT_WORK_MAX */
	/* Of a cell whose files were copied: entries that the copy does not have. */
	struct walk_report left;
	unsigned left_over;
};

/*
 * Works in steps, because the program and the caller choose the tree, the globs and the bytes, and
 * other runs wait meanwhile. Borrowed data (the options' lists, the result) must stay valid until
 * the last step.
 */
struct collection;
int collect_begin(int sandbox, const struct collect_options *options, struct brig_result *result,
		  struct collection **ret);
/*
 * Works until the deadline, or at most a fraction of a millisecond longer. 1: files, files_note and
 * changes of the result are set, and the note counts the files that could not be returned; 0: there
 * is more to do; -errno.
 */
int collect_step(struct collection *collection, uint64_t deadline_ns);
/* At the end: is any requested file missing? */
bool collect_is_cut(const struct collection *collection);
void collect_free(struct collection *collection);

/* The whole collection in one call. */
int collect(int sandbox, const struct collect_options *options, struct brig_result *result);
#endif
