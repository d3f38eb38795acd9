/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writing a streamed answer at the reader's pace, and in slices: what the reader does not take now,
 * or what there is no turn for, waits here.
 */
#ifndef BRIG_FRONT_EXECUTION_STREAM_WRITER_H
#define BRIG_FRONT_EXECUTION_STREAM_WRITER_H

#include "base/rope.h"
#include "front/execution/turns.h"
#include "http/http.h"

struct stream_writer {
	struct turns *turns; /* borrowed */
	struct turn turn;
	struct rope waiting;
	struct http_budget *budget; /* that what waits is counted in; or NULL */
	size_t charged;
	bool held; /* the reader is behind: until `drained` */
};

/* `go_on`: its turn has come; call spout_resume() and put more. */
void stream_writer_init(struct stream_writer *writer, struct turns *turns,
			struct http_budget *budget, void (*go_on)(void *user), void *user);
void stream_writer_done(struct stream_writer *writer);
/* Takes the text over, and writes what goes now. `exchange` may be NULL: nobody reads. */
void stream_writer_put(struct stream_writer *writer, struct http_exchange *exchange,
		       struct rope *text);
/* The reader has taken what it was given: for `drained`. */
void stream_writer_drained(struct stream_writer *writer);
/* Writes more of what waits, if there is a turn for it. */
void stream_writer_resume(struct stream_writer *writer, struct http_exchange *exchange);
/* All that was put is with the HTTP layer, and more can come now; else `go_on` will be called. */
bool stream_writer_ready(struct stream_writer *writer);
/* All that was put is with the HTTP layer. */
bool stream_writer_empty(const struct stream_writer *writer);
#endif
