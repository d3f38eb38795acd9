/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An execution as server-sent events: `output` as it comes, then `result` or `error`. An event's id
 * is the position after it: the bytes of stdout and of stderr that have been sent. So a reader that
 * was cut off continues exactly there, also when only the ledger still has the execution.
 */
#ifndef BRIG_FRONT_EXECUTION_EVENT_STREAM_H
#define BRIG_FRONT_EXECUTION_EVENT_STREAM_H

#include "front/execution/stored.h"

#define EVENTS_TYPE "text/event-stream"

/*
 * Parses Last-Event-ID. 0, -EALREADY: everything was seen, -EINVAL: not a valid id. NULL is the
 * beginning.
 */
int events_position(const char *id, struct output_log_position *ret);
/* Begins a stream. Call execution_submit(), if at all, afterwards. */
void events_attach(struct request *request, struct execution *execution,
		   const struct output_log_position *from, bool owner);
/* All events of an execution that has ended. */
void events_replay(struct request *request, const struct stored *stored,
		   const struct output_log_position *from);
#endif
