/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An execution as server-sent events: `output` as it comes, then `result` or `error`. An event's id
 * is the place behind it: bytes of stdout and of stderr that have been sent. So whoever was cut off
 * goes on exactly there, also when the execution is only in the ledger any more.
 */
#ifndef BRIG_FRONT_EXECUTION_EVENTS_H
#define BRIG_FRONT_EXECUTION_EVENTS_H

#include "front/execution/stored.h"

#define EVENTS_TYPE "text/event-stream"

/* Last-Event-ID. 0, -EALREADY: all was seen, -EINVAL: not one of ours. NULL is the beginning. */
int events_position(const char *id, struct output_log_position *ret);
/* The beginning of a stream. Call execution_submit(), if at all, afterwards. */
void events_attach(struct request *request, struct execution *execution,
		   const struct output_log_position *from, bool owner);
/* All of it, of one that has ended. */
void events_replay(struct request *request, const struct stored *stored,
		   const struct output_log_position *from);
#endif
