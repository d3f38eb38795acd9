/* SPDX-License-Identifier: Apache-2.0 */
/* What a run has written so far, in the order in which it came. */
#include <stdlib.h>

#include "base/utf8.h"
#include "front/execution_internal.h"

#define PART_MAX (32u << 10)

void output_add(struct execution *execution, int stream, const void *data, size_t size)
{
	struct buf *output = &execution->output[stream == 2];
	struct segment *last = execution->segments_count
				       ? &execution->segments[execution->segments_count - 1]
				       : NULL;

	buf_add(output, data, size);
	if (last && last->stream == stream) {
		last->end = output->size;
		return;
	}
	if (execution->segments_count == execution->segments_room) {
		size_t room = execution->segments_room ? 2 * execution->segments_room : 8;
		struct segment *more = reallocarray(execution->segments, room, sizeof(*more));
		if (!more) {
			/* The result has it all; only the order on the way is lost. */
			return;
		}
		execution->segments = more;
		execution->segments_room = room;
	}
	execution->segments[execution->segments_count++] =
		(struct segment){ .stream = stream, .end = output->size };
}

/* A character that is not all there yet waits for its rest: how many of these bytes go now. */
static size_t whole_characters(const char *data, size_t size)
{
	size_t back = 0;

	while (back < 3 && back + 1 < size && utf8_continues(data[size - 1 - back])) {
		back++;
	}
	unsigned char lead = (unsigned char)data[size - 1 - back];
	size_t wanted = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;

	return wanted > back + 1 ? size - back - 1 : size;
}

bool execution_output(const struct execution *execution, struct place *place,
		      struct output_part *ret)
{
	for (size_t i = 0; i < execution->segments_count; i++) {
		const struct segment *segment = &execution->segments[i];
		const struct buf *output = &execution->output[segment->stream == 2];
		size_t *seen = &place->seen[segment->stream == 2];

		if (segment->end <= *seen) {
			continue;
		}
		size_t size = segment->end - *seen;
		size = size > PART_MAX ? PART_MAX : size;
		size_t whole = whole_characters(output->data + *seen, size);
		if (whole == 0 && *seen + size == output->size &&
		    execution->state <= EXECUTION_RUNNING) {
			continue;
		}
		*ret = (struct output_part){ .stream = segment->stream,
					     .data = output->data + *seen,
					     .size = whole ? whole : size };
		*seen += ret->size;
		return true;
	}
	return false;
}
