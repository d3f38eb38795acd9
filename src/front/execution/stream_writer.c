/* SPDX-License-Identifier: Apache-2.0 */
/* Streams at the reader's pace: see stream_writer.h. */
#include "front/execution/stream_writer.h"

#define HOLD_BYTES  (256u << 10)
#define PIECE_BYTES (64u << 10)

void stream_writer_init(struct stream_writer *writer, struct turns *turns,
			struct http_budget *budget, void (*go_on)(void *user), void *user)
{
	*writer = (struct stream_writer){
		.turns = turns,
		.turn = { .due = go_on, .user = user },
		.budget = budget,
	};
}

static void recount(struct stream_writer *writer)
{
	size_t waiting = rope_left(&writer->waiting);

	if (writer->budget) {
		writer->budget->answers += waiting - writer->charged;
		writer->charged = waiting;
	}
}

void stream_writer_done(struct stream_writer *writer)
{
	turn_leave(&writer->turn);
	rope_done(&writer->waiting);
	recount(writer);
}

static size_t write_piece(struct stream_writer *writer, struct http_exchange *exchange)
{
	struct iovec pieces[ROPE_PIECES];
	size_t count = rope_peek(&writer->waiting, PIECE_BYTES, pieces);
	size_t size = count ? pieces[0].iov_len : 0;

	if (exchange && size) {
		writer->held = http_stream_write(exchange, pieces[0].iov_base, size) > HOLD_BYTES;
	}
	rope_take(&writer->waiting, size);
	return size;
}

void stream_writer_resume(struct stream_writer *writer, struct http_exchange *exchange)
{
	while (!writer->held && !stream_writer_empty(writer) && turns_left(writer->turns)) {
		turns_spend(writer->turns, write_piece(writer, exchange));
	}
	if (stream_writer_empty(writer)) {
		rope_done(&writer->waiting);
	} else if (!writer->held) {
		turn_join(writer->turns, &writer->turn);
	}
	recount(writer);
}

void stream_writer_put(struct stream_writer *writer, struct http_exchange *exchange,
		       struct rope *text)
{
	rope_append(&writer->waiting, text);
	rope_done(text);
	stream_writer_resume(writer, exchange);
}

void stream_writer_drained(struct stream_writer *writer)
{
	writer->held = false;
}

bool stream_writer_ready(struct stream_writer *writer)
{
	if (writer->held || !stream_writer_empty(writer)) {
		return false;
	}
	if (!turns_left(writer->turns)) {
		turn_join(writer->turns, &writer->turn);
		return false;
	}
	return true;
}

bool stream_writer_empty(const struct stream_writer *writer)
{
	return rope_left(&writer->waiting) == 0;
}
