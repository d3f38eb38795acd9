/* SPDX-License-Identifier: Apache-2.0 */
/* Streams at the reader's pace: see spout.h. */
#include "front/execution/stream_writer.h"

#define HOLD_BYTES  (256u << 10)
#define PIECE_BYTES (64u << 10)

void spout_init(struct spout *spout, struct turns *turns, struct http_budget *budget,
		void (*go_on)(void *user), void *user)
{
	*spout = (struct spout){
		.turns = turns,
		.turn = { .due = go_on, .user = user },
		.budget = budget,
	};
}

static void recount(struct spout *spout)
{
	size_t waiting = rope_left(&spout->waiting);

	if (spout->budget) {
		spout->budget->answers += waiting - spout->charged;
		spout->charged = waiting;
	}
}

void spout_done(struct spout *spout)
{
	turn_leave(&spout->turn);
	rope_done(&spout->waiting);
	recount(spout);
}

static size_t write_piece(struct spout *spout, struct http_exchange *exchange)
{
	struct iovec pieces[ROPE_PIECES];
	size_t count = rope_peek(&spout->waiting, PIECE_BYTES, pieces);
	size_t size = count ? pieces[0].iov_len : 0;

	if (exchange && size) {
		spout->held = http_stream_write(exchange, pieces[0].iov_base, size) > HOLD_BYTES;
	}
	rope_take(&spout->waiting, size);
	return size;
}

void spout_resume(struct spout *spout, struct http_exchange *exchange)
{
	while (!spout->held && !spout_empty(spout) && turns_left(spout->turns)) {
		turns_spend(spout->turns, write_piece(spout, exchange));
	}
	if (spout_empty(spout)) {
		rope_done(&spout->waiting);
	} else if (!spout->held) {
		turn_join(spout->turns, &spout->turn);
	}
	recount(spout);
}

void spout_put(struct spout *spout, struct http_exchange *exchange, struct rope *text)
{
	rope_append(&spout->waiting, text);
	rope_done(text);
	spout_resume(spout, exchange);
}

void spout_drained(struct spout *spout)
{
	spout->held = false;
}

bool spout_ready(struct spout *spout)
{
	if (spout->held || !spout_empty(spout)) {
		return false;
	}
	if (!turns_left(spout->turns)) {
		turn_join(spout->turns, &spout->turn);
		return false;
	}
	return true;
}

bool spout_empty(const struct spout *spout)
{
	return rope_left(&spout->waiting) == 0;
}
