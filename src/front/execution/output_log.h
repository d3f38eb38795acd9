/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output of a run, in the order in which it came. Each reader has a position of its own; a
 * reader that is behind keeps the log after the execution has ended.
 *
 * Reading a part costs the same at every position. Changes between stdout and stderr are recorded
 * up to a limit: above it a reader that is behind gets the rest of one stream, then of the other.
 *
 * The logs of a tenant share a budget. Above it a log keeps only the end of each stream: a reader
 * that is further behind has to wait for the result.
 */
#ifndef BRIG_FRONT_EXECUTION_OUTPUT_LOG_H
#define BRIG_FRONT_EXECUTION_OUTPUT_LOG_H

#include <stdbool.h>
#include <stddef.h>

#define OUTPUT_SEGMENTS_MAX 16384u
#define OUTPUT_PART_MAX     (32u << 10)

/*
 * The last so many bytes of each stream are kept regardless of the budget. The log grows to twice
 * that before it is cut, so that cutting costs no more than adding.
 */
#define OUTPUT_TAIL ((size_t)1 << 20)

struct output_log;

/* Bytes in the logs of one tenant; `max` 0: no limit. It outlives the logs. */
struct output_budget {
	size_t used, max;
};

/* A position in the output: the bytes of stdout and of stderr that have been seen. */
struct output_log_position {
	size_t seen[2];
	/* where to look first, counted from the first segment ever; 0 is always right */
	size_t segment;
};

struct output_part {
	int stream; /* 1 or 2 */
	const char *data;
	size_t size;
};

/* NULL: no memory. `budget` may be NULL. */
struct output_log *output_log_new(struct output_budget *budget);
struct output_log *output_log_ref(struct output_log *log);
void output_log_unref(struct output_log *log); /* NULL is ignored */
void output_log_add(struct output_log *log, int stream, const void *data, size_t size);
/*
 * No more output comes: a partial character does not wait for its rest. The log is not counted any
 * more: from here on its readers are.
 */
void output_log_end(struct output_log *log);
/* There is no reader: drops everything. */
void output_log_clear(struct output_log *log);
/* True: the next bytes after the position are not kept any more. */
bool output_log_lacks(const struct output_log *log, const struct output_log_position *position);
/* The next part after `position`, which is moved on; false: nothing now. */
bool output_log_next(const struct output_log *log, struct output_log_position *position,
		     struct output_part *ret);
/* The number of bytes after the position that are kept. */
size_t output_log_left(const struct output_log *log, const struct output_log_position *position);
#endif
