/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events of a run, aggregated into its result. The list is bounded, and a program cannot push an
 * event out of it by causing many others: each kind has room of its own, each line of the policy
 * may take only a part of it, and the counts by kind are always complete.
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

/* `subject` may have any bytes. */
struct event {
	enum brig_event_kind kind;
	const char *subject;
	size_t subject_size;
	const char *reason;
	uint64_t at_ns; /* since the run's start */
	uint64_t count; /* 0: as 1 */
};

/* Without memory the subject is lost, but the event is always counted. */
void events_note(struct brig_result *result, const struct event *event);
/* Events whose subject is not known. */
void events_note_unnamed(struct brig_result *result, enum brig_event_kind kind, uint64_t count);
/* Printable ASCII, other bytes as \xNN; text that does not fit ends in "...". Always terminated. */
void events_escape(const char *bytes, size_t size, char *text, size_t room);

/* The threshold that was crossed: its key in policies, and its value; else NULL. */
const char *events_over(const struct brig_result *result, const struct event_limits *limits,
			enum brig_event_kind kind, uint64_t *ret_most);
#endif
