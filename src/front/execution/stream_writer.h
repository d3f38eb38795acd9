/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a streamed answer at the reader's pace, and in slices: bytes that the reader does not take
 * now, or for which there is no turn, wait here.
 */
#ifndef BRIG_FRONT_EXECUTION_STREAM_WRITER_H
#define BRIG_FRONT_EXECUTION_STREAM_WRITER_H

#include "base/bytes/rope.h"
#include "front/execution/turns.h"
#include "http/http.h"

struct stream_writer {
	struct turns *turns; /* borrowed */
	struct turn turn;
	struct rope waiting;
	struct http_budget *budget; /* counts the waiting bytes; or NULL */
	size_t charged;
	bool held; /* the reader is behind: until `drained` */
};

/* `go_on`: its turn has come; call stream_writer_resume() and put more. */
void stream_writer_init(struct stream_writer *writer, struct turns *turns,
			struct http_budget *budget, void (*go_on)(void *user), void *user);
void stream_writer_done(struct stream_writer *writer);
/* Takes the text over, and writes as much as possible now. `exchange` may be NULL: no reader. */
void stream_writer_put(struct stream_writer *writer, struct http_exchange *exchange,
		       struct rope *text);
/* The reader has taken all bytes that it was sent: for `drained`. */
void stream_writer_drained(struct stream_writer *writer);
/* Writes more of the waiting bytes, if there is a turn for it. */
void stream_writer_resume(struct stream_writer *writer, struct http_exchange *exchange);
/* Everything is with the HTTP layer, and more can be put now; else `go_on` will be called. */
bool stream_writer_ready(struct stream_writer *writer);
/* Everything is with the HTTP layer. */
bool stream_writer_empty(const struct stream_writer *writer);
#endif
