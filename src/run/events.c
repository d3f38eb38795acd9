/* SPDX-License-Identifier: Apache-2.0 */
/* Events of a run: see events.h. */
#include "run/events.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* How many distinct events of each kind are listed. */
static const struct {
	const char *name;
	size_t room;
	size_t of_reason; /* and how many of those for one line of the policy */
	/* one for each call and rule: the program could vary the arguments without end */
	bool by_call;
} kinds[BRIG_EVENT_KINDS] = {
	[BRIG_EVENT_CALL_DENIED] = { "call.denied", 16, 16, true },
	[BRIG_EVENT_CALL_WATCHED] = { "call.watched", 8, 8, true },
	[BRIG_EVENT_FILE_WATCHED] = { "file.watched", 16, 4, false },
	[BRIG_EVENT_CONNECTION_REFUSED] = { "connection.refused", 12, 8, false },
	[BRIG_EVENT_GUARD_REFUSED] = { "guard.refused", 2, 2, false },
	[BRIG_EVENT_LIMIT_TOUCHED] = { "limit.touched", 8, 8, false },
};

const char *brig_event_name(enum brig_event_kind kind)
{
	return (size_t)kind < BRIG_EVENT_KINDS ? kinds[kind].name : "unknown";
}

void events_escape(const char *bytes, size_t size, char *text, size_t room)
{
	static const char more[] = "...";
	size_t used = 0, fits = 0; /* how much of the text can precede the dots */

	for (size_t i = 0; i < size; i++) {
		unsigned char byte = (unsigned char)bytes[i];
		bool plain = byte >= ' ' && byte < 0x7f && byte != '\\';
		size_t width = plain ? 1 : 4;

		if (used + width >= room) {
			memcpy(text + fits, more, sizeof(more));
			return;
		}
		snprintf(text + used, room - used, plain ? "%c" : "\\x%02x", byte);
		used += width;
		if (used + sizeof(more) <= room) {
			fits = used;
		}
	}
	text[used] = '\0';
}

static bool is_same(const struct brig_event *event, const struct brig_event *other)
{
	if (event->kind != other->kind || strcmp(event->reason, other->reason) != 0) {
		return false;
	}
	if (kinds[event->kind].by_call) {
		size_t length = strcspn(event->subject, "(");
		return length == strcspn(other->subject, "(") &&
		       memcmp(event->subject, other->subject, length) == 0;
	}
	return strcmp(event->subject, other->subject) == 0;
}

/* The listed event that this one counts for; NULL: it is new. `ret_room`: is there room for it? */
static struct brig_event *find_event(const struct brig_result *result,
				     const struct brig_event *event, bool *ret_room)
{
	size_t of_kind = 0, of_reason = 0;

	for (size_t i = 0; i < result->events_count; i++) {
		struct brig_event *other = &result->events[i];

		if (is_same(event, other)) {
			return other;
		}
		of_kind += other->kind == event->kind;
		of_reason +=
			other->kind == event->kind && strcmp(other->reason, event->reason) == 0;
	}
	*ret_room = of_kind < kinds[event->kind].room && of_reason < kinds[event->kind].of_reason;
	return NULL;
}

void events_note(struct brig_result *result, const struct event *event)
{
	struct brig_event noted = { .kind = event->kind, .first_ns = event->at_ns };
	uint64_t count = event->count ? event->count : 1;
	bool room = false;

	events_escape(event->subject, event->subject_size, noted.subject, sizeof(noted.subject));
	events_escape(event->reason, strlen(event->reason), noted.reason, sizeof(noted.reason));
	struct brig_event *known = find_event(result, &noted, &room);
	if (!known && room) {
		struct brig_event *list =
			reallocarray(result->events, result->events_count + 1, sizeof(*list));
		if (list) {
			result->events = list;
			known = &list[result->events_count++];
			*known = noted;
		}
	}
	if (!known) {
		events_note_unnamed(result, event->kind, count);
		return;
	}
	known->count += count;
	result->event_counts[event->kind] += count;
}

void events_note_unnamed(struct brig_result *result, enum brig_event_kind kind, uint64_t count)
{
	result->event_counts[kind] += count;
	result->events_dropped += count;
}

const char *events_over(const struct brig_result *result, const struct event_limits *limits,
			enum brig_event_kind kind, uint64_t *ret_most)
{
	const uint64_t *counts = result->event_counts;
	const struct {
		const char *key;
		uint64_t most, seen;
	} rows[BRIG_EVENT_KINDS] = {
		[BRIG_EVENT_CALL_DENIED] = { "denied_calls", limits->denied_calls,
					     counts[BRIG_EVENT_CALL_DENIED] },
		[BRIG_EVENT_CALL_WATCHED] = { "watched", limits->watched,
					      counts[BRIG_EVENT_CALL_WATCHED] +
						      counts[BRIG_EVENT_FILE_WATCHED] },
		[BRIG_EVENT_FILE_WATCHED] = { "watched", limits->watched,
					      counts[BRIG_EVENT_CALL_WATCHED] +
						      counts[BRIG_EVENT_FILE_WATCHED] },
		[BRIG_EVENT_CONNECTION_REFUSED] = { "refused_connections",
						    limits->refused_connections,
						    counts[BRIG_EVENT_CONNECTION_REFUSED] },
	};

	if (rows[kind].most == 0 || rows[kind].seen <= rows[kind].most) {
		return NULL;
	}
	*ret_most = rows[kind].most;
	return rows[kind].key;
}
