/* SPDX-License-Identifier: Apache-2.0 */
/* Records a run's events, and ends it when it has crossed a threshold of the policy. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "run/run_internal.h"

static const enum ending endings[BRIG_EVENT_KINDS] = {
	[BRIG_EVENT_CALL_DENIED] = ENDING_DENIALS,
	[BRIG_EVENT_CALL_WATCHED] = ENDING_WATCHED,
	[BRIG_EVENT_FILE_WATCHED] = ENDING_WATCHED,
	[BRIG_EVENT_CONNECTION_REFUSED] = ENDING_CONNECTIONS,
};

/* The verdict names the first event that crossed a threshold. */
static void check_thresholds(struct run *run, enum brig_event_kind kind, const char *subject,
			     const char *reason)
{
	struct event_over *over = &run->facts.over;
	uint64_t most = 0;
	const char *key = events_over(run->result, &run->options.end_after, kind, &most);

	if (!key || over->key || run->state >= RUN_ENDING) {
		return;
	}
	over->key = key;
	over->most = most;
	over->ending = endings[kind];
	snprintf(over->subject, sizeof(over->subject), "%s", subject);
	snprintf(over->reason, sizeof(over->reason), "%.*s", (int)sizeof(over->reason) - 1, reason);
}

void run_end_over(struct run *run)
{
	if (run->facts.over.key) {
		run_end(run, run->facts.over.ending);
	}
}

void run_note_only(struct run *run, const struct event *event)
{
	char subject[sizeof(run->facts.over.subject)];
	struct event timed = *event;
	uint64_t now = clock_now_ns();

	if (!run->result) {
		return; /* the result was taken already */
	}
	timed.at_ns = now > run->watch.start_ns ? now - run->watch.start_ns : 0;
	events_note(run->result, &timed);
	events_escape(event->subject, event->subject_size, subject, sizeof(subject));
	check_thresholds(run, event->kind, subject, event->reason);
}

void run_note(struct run *run, const struct event *event)
{
	run_note_only(run, event);
	run_end_over(run);
}

void run_note_unnamed(struct run *run, enum brig_event_kind kind, uint64_t count)
{
	if (run->result) {
		events_note_unnamed(run->result, kind, count);
		check_thresholds(run, kind, "not named", "there were too many to list");
		run_end_over(run);
	}
}

void run_note_start(struct run *run)
{
	for (size_t i = 0; run->result && i < run->result->events_count; i++) {
		run->result->events[i].first_ns = 0;
	}
}

/* --- limits --------------------------------------------------------------------------------- */

void run_note_limits(struct run *run)
{
	const struct facts *facts = &run->facts;
	const struct {
		const char *name, *reason;
		uint64_t count;
	} limits[] = {
		{ "memory_bytes", "processes were killed because memory ran out",
		  facts->oom_outside ? 0 : facts->oom_kills },
		{ "processes", "more processes or threads were requested",
		  facts->fork_refusals ? facts->fork_refusals : facts->processes_full },
		{ "disk_bytes", "the disk was full", facts->disk_full },
		{ "disk_inodes", "there was no room for another file", facts->inodes_full },
		{ "file_bytes", "a file could not grow", facts->file_full },
		{ "stdout_bytes", "more was printed", stream_truncated(&run->out[0]) },
		{ "stderr_bytes", "more was printed", stream_truncated(&run->out[1]) },
		{ "net_bytes", "more was sent or received", facts->ending == ENDING_NETWORK },
	};

	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		if (limits[i].count) {
			run_note_only(run, &(struct event){ .kind = BRIG_EVENT_LIMIT_TOUCHED,
							    .subject = limits[i].name,
							    .subject_size = strlen(limits[i].name),
							    .reason = limits[i].reason,
							    .count = limits[i].count });
		}
	}
}
