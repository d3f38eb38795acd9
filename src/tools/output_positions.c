/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places in the text of a kept output. Where a byte stands is known only by decoding all in front
 * of it; so every 64 KiB a place is noted on the way, for this reader and for those to come.
 */
#include <errno.h>
#include <stdlib.h>

#include "tools/tools_internal.h"

#define PLACE_BYTES 65536u
#define PLACES_STEP 2u /* passed in one go */

static int places_add(struct output_places *places, const struct outcome_stream *stream)
{
	if (places->count == places->room) {
		size_t room = places->room ? places->room * 2 : 16;
		struct output_place *grown =
			reallocarray(places->places, room, sizeof(struct output_place));

		if (!grown) {
			return -ENOMEM;
		}
		places->places = grown;
		places->room = room;
	}
	places->places[places->count++] = (struct output_place){ stream->at, stream->offset };
	return 0;
}

/* To the last place in front of the offset; how many there are up to it. */
static size_t places_enter(const struct output_places *places, struct outcome_stream *stream,
			   size_t offset)
{
	size_t passed = offset / PLACE_BYTES;

	passed = passed < places->count ? passed : places->count;
	if (passed > 0) {
		stream->at = places->places[passed - 1].at;
		stream->offset = places->places[passed - 1].offset;
	}
	return passed;
}

int output_places_seek(struct output_places *places, struct outcome_stream *stream, size_t offset)
{
	if (stream->base64) { /* a matter of counting */
		(void)outcome_stream_skip(stream, offset);
		return 1;
	}
	size_t passed = places_enter(places, stream, offset);
	for (unsigned step = 0; passed < offset / PLACE_BYTES; step++) {
		if (step == PLACES_STEP) {
			return 0;
		}
		/* A character may keep it some bytes short of the place. */
		passed++;
		(void)outcome_stream_skip(stream, passed * PLACE_BYTES - stream->offset);
		if (stream->at == stream->end) {
			return 1;
		}
		if (passed > places->count && places_add(places, stream) < 0) {
			return -ENOMEM;
		}
	}
	(void)outcome_stream_skip(stream, offset - stream->offset);
	return 1;
}

void output_places_done(struct output_places *places)
{
	free(places->places);
	*places = (struct output_places){ 0 };
}
