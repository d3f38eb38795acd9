/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a streamed answer at the reader's pace: what it does not take now waits here. */
#ifndef BRIG_FRONT_SPOUT_H
#define BRIG_FRONT_SPOUT_H

#include "base/buf.h"
#include "http/http.h"

struct spout {
	struct buf waiting;
	size_t at;
	bool held; /* the reader is behind: until `drained` */
};

void spout_done(struct spout *spout);
/* Takes the text over, and writes what goes now. `exchange` may be NULL: nobody reads. */
void spout_put(struct spout *spout, struct http_exchange *exchange, struct buf *text);
/* For `drained`. */
void spout_resume(struct spout *spout, struct http_exchange *exchange);
/* All that was put is with the HTTP layer, and it can take more. */
bool spout_ready(const struct spout *spout);
/* All that was put is with the HTTP layer. */
bool spout_empty(const struct spout *spout);
#endif
