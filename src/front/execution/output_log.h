/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run has written, in the order in which it came. Readers come and go, each with a place of
 * its own; a reader that is behind keeps the log after the execution is gone.
 *
 * A part costs the same wherever it stands. Changes between stdout and stderr are remembered up to
 * a number: beyond it a reader that is behind gets the rest of one stream, then of the other.
 *
 * The logs of a tenant have a budget together. Above it a log keeps only the end of each stream:
 * whoever is further behind has to wait for the result.
 */
#ifndef BRIG_FRONT_EXECUTION_OUTPUT_LOG_H
#define BRIG_FRONT_EXECUTION_OUTPUT_LOG_H

#include <stdbool.h>
#include <stddef.h>

#define OUTPUT_SEGMENTS_MAX 16384u
#define OUTPUT_PART_MAX     (32u << 10)

/* Of each stream the last so many bytes are kept whatever the budget says; of the log twice that
 * much is taken before it is cut, so that cutting costs no more than adding. */
#define OUTPUT_TAIL ((size_t)1 << 20)

struct output_log;

/* Bytes in the logs of one tenant; `max` 0: no limit. It outlives the logs. */
struct output_budget {
	size_t used, max;
};

/* A place in the output, as bytes of stdout and of stderr that have been seen. */
struct output_log_position {
	size_t seen[2];
	size_t segment; /* where to look first, of all there were; 0 is always right */
};

struct output_part {
	int stream; /* 1 or 2 */
	const char *data;
	size_t size;
};

/* Or NULL. `budget` may be NULL. */
struct output_log *output_log_new(struct output_budget *budget);
struct output_log *output_log_ref(struct output_log *log);
void output_log_unref(struct output_log *log); /* NULL does nothing */
void output_log_add(struct output_log *log, int stream, const void *data, size_t size);
/*
 * No more comes: the first bytes of a character do not wait for the rest. It is not counted any
 * more: from here on its readers are.
 */
void output_log_end(struct output_log *log);
/* Nobody reads it: all of it goes. */
void output_log_clear(struct output_log *log);
/* True: what comes next behind the place is not kept any more. */
bool output_log_lacks(const struct output_log *log, const struct output_log_position *position);
/* The next part behind `place`, which is moved; false: nothing now. */
bool output_log_next(const struct output_log *log, struct output_log_position *position,
		     struct output_part *ret);
/* Bytes behind the place, of those that are kept. */
size_t output_log_left(const struct output_log *log, const struct output_log_position *position);
#endif
