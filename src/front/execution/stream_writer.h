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

struct spout {
	struct turns *turns; /* borrowed */
	struct turn turn;
	struct rope waiting;
	struct http_budget *budget; /* that what waits is counted in; or NULL */
	size_t charged;
	bool held; /* the reader is behind: until `drained` */
};

/* `go_on`: its turn has come; call spout_resume() and put more. */
void spout_init(struct spout *spout, struct turns *turns, struct http_budget *budget,
		void (*go_on)(void *user), void *user);
void spout_done(struct spout *spout);
/* Takes the text over, and writes what goes now. `exchange` may be NULL: nobody reads. */
void spout_put(struct spout *spout, struct http_exchange *exchange, struct rope *text);
/* The reader has taken what it was given: for `drained`. */
void spout_drained(struct spout *spout);
/* Writes more of what waits, if there is a turn for it. */
void spout_resume(struct spout *spout, struct http_exchange *exchange);
/* All that was put is with the HTTP layer, and more can come now; else `go_on` will be called. */
bool spout_ready(struct spout *spout);
/* All that was put is with the HTTP layer. */
bool spout_empty(const struct spout *spout);
#endif
