/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Positions in the text of a kept output. The position of a byte is known only by decoding all text
 * before it; so every 64 KiB a position is recorded on the way, for this reader and later ones.
 */
#include <errno.h>
#include <stdlib.h>

#include "tools/tools_internal.h"

#define POSITION_BYTES 65536u
#define POSITIONS_STEP 2u /* decoded in one go */

static int positions_add(struct output_positions *positions, const struct outcome_stream *stream)
{
	if (positions->count == positions->room) {
		size_t room = positions->room ? positions->room * 2 : 16;
		struct output_position *grown =
			reallocarray(positions->positions, room, sizeof(struct output_position));

		if (!grown) {
			return -ENOMEM;
		}
		positions->positions = grown;
		positions->room = room;
	}
	positions->positions[positions->count++] =
		(struct output_position){ stream->at, stream->offset };
	return 0;
}

/* Moves the stream to the last position before the offset; returns how many there are up to it. */
static size_t positions_enter(const struct output_positions *positions,
			      struct outcome_stream *stream, size_t offset)
{
	size_t passed = offset / POSITION_BYTES;

	passed = passed < positions->count ? passed : positions->count;
	if (passed > 0) {
		stream->at = positions->positions[passed - 1].at;
		stream->offset = positions->positions[passed - 1].offset;
	}
	return passed;
}

int output_positions_seek(struct output_positions *positions, struct outcome_stream *stream,
			  size_t offset)
{
	if (stream->base64) { /* the position can be computed */
		(void)outcome_stream_skip(stream, offset);
		return 1;
	}
	size_t passed = positions_enter(positions, stream, offset);
	for (unsigned step = 0; passed < offset / POSITION_BYTES; step++) {
		if (step == POSITIONS_STEP) {
			return 0;
		}
		/* A character may end some bytes before the position. */
		passed++;
		(void)outcome_stream_skip(stream, passed * POSITION_BYTES - stream->offset);
		if (stream->at == stream->end) {
			return 1;
		}
		if (passed > positions->count && positions_add(positions, stream) < 0) {
			return -ENOMEM;
		}
	}
	(void)outcome_stream_skip(stream, offset - stream->offset);
	return 1;
}

void output_positions_done(struct output_positions *positions)
{
	free(positions->positions);
	*positions = (struct output_positions){ 0 };
}
