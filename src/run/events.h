/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of a run, aggregated into its result. Bounded, and so that a program cannot push out what
 * it has done by doing more of something else: each kind has room of its own, each line of the
 * policy only a part of it, and the counts by kind are always whole.
 */
#ifndef BRIG_RUN_EVENTS_H
#define BRIG_RUN_EVENTS_H

#include <brig/brig.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A run with more of these is ended; 0: never. */
struct event_limits {
	uint64_t denied_calls;
	uint64_t refused_connections;
	uint64_t watched; /* calls and files together */
};

/* One thing that happened. `subject` may have any bytes. */
struct event {
	enum brig_event_kind kind;
	const char *subject;
	size_t subject_size;
	const char *reason;
	uint64_t at_ns; /* since the run's start */
	uint64_t count; /* 0: as 1 */
};

/* Memory that is short costs the subject, never the count. */
void events_note(struct brig_result *result, const struct event *event);
/* Such as have no subject that is known. */
void events_note_unnamed(struct brig_result *result, enum brig_event_kind kind, uint64_t count);
/* Printable ASCII, the rest as \xNN; what does not fit ends in "...". Always a text. */
void events_escape(const char *bytes, size_t size, char *text, size_t room);

/* The threshold that is crossed: its key in policies, and the most that it allows; else NULL. */
const char *events_over(const struct brig_result *result, const struct event_limits *limits,
			enum brig_event_kind kind, uint64_t *ret_most);
#endif
