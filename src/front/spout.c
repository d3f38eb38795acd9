/* SPDX-License-Identifier: Apache-2.0 */
/* Streams at the reader's pace. */
#include "front/spout.h"

#define HOLD_BYTES  (256u << 10)
#define PIECE_BYTES (64u << 10)

void spout_done(struct spout *spout)
{
	buf_done(&spout->waiting);
	*spout = (struct spout){ 0 };
}

static void flush(struct spout *spout, struct http_exchange *exchange)
{
	while (!spout->held && spout->at < spout->waiting.size) {
		size_t size = spout->waiting.size - spout->at;

		size = size > PIECE_BYTES ? PIECE_BYTES : size;
		spout->held = exchange &&
			      http_stream_write(exchange, spout->waiting.data + spout->at, size) >
				      HOLD_BYTES;
		spout->at += size;
	}
	if (spout->at == spout->waiting.size) {
		buf_done(&spout->waiting);
		spout->waiting = (struct buf){ 0 };
		spout->at = 0;
	}
}

void spout_put(struct spout *spout, struct http_exchange *exchange, struct buf *text)
{
	if (spout->waiting.size == 0) {
		buf_done(&spout->waiting);
		spout->waiting = *text;
	} else {
		buf_add(&spout->waiting, text->data, text->size);
		buf_done(text);
	}
	*text = (struct buf){ 0 };
	flush(spout, exchange);
}

void spout_resume(struct spout *spout, struct http_exchange *exchange)
{
	spout->held = false;
	flush(spout, exchange);
}

bool spout_ready(const struct spout *spout)
{
	return !spout->held && spout_empty(spout);
}

bool spout_empty(const struct spout *spout)
{
	return spout->at == spout->waiting.size;
}
