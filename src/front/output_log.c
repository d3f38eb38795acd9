/* SPDX-License-Identifier: Apache-2.0 */
/* What a run has written so far: see output_log.h. */
#include "front/output_log.h"

#include <stdlib.h>

#include "base/buf.h"
#include "base/utf8.h"

/* Bytes of one stream, up to the first of the other one behind them. */
struct segment {
	int stream;
	size_t end; /* in the stream's own count */
};

struct output_log {
	unsigned refs;
	bool ended;
	struct buf data[2];
	struct segment *segments; /* owned; the streams take turns */
	size_t count, room;
};

struct output_log *output_log_new(void)
{
	struct output_log *log = calloc(1, sizeof(*log));

	if (log) {
		log->refs = 1;
	}
	return log;
}

struct output_log *output_log_ref(struct output_log *log)
{
	log->refs++;
	return log;
}

void output_log_unref(struct output_log *log)
{
	if (!log || --log->refs > 0) {
		return;
	}
	buf_done(&log->data[0]);
	buf_done(&log->data[1]);
	free(log->segments);
	free(log);
}

static bool make_room(struct output_log *log)
{
	if (log->segments && log->count < log->room) {
		return true;
	}
	size_t room = log->room ? 2 * log->room : 8;
	struct segment *more = room <= OUTPUT_SEGMENTS_MAX
				       ? reallocarray(log->segments, room, sizeof(*more))
				       : NULL;
	if (!more) {
		return false;
	}
	log->segments = more;
	log->room = room;
	return true;
}

/* The segment that the stream's next bytes belong to; NULL: there is none, and no memory. */
static struct segment *segment_for(struct output_log *log, int stream)
{
	struct segment *last = log->count ? &log->segments[log->count - 1] : NULL;

	if (last && last->stream == stream) {
		return last;
	}
	if (make_room(log)) {
		size_t at = log->count++;
		log->segments[at] = (struct segment){ .stream = stream };
		return &log->segments[at];
	}
	/* The one before the last: the streams take turns. */
	return log->count > 1 ? &log->segments[log->count - 2] : NULL;
}

void output_log_add(struct output_log *log, int stream, const void *data, size_t size)
{
	struct buf *output = &log->data[stream == 2];
	struct segment *segment = segment_for(log, stream);

	buf_add(output, data, size);
	if (segment) {
		segment->end = output->size;
	}
}

void output_log_end(struct output_log *log)
{
	log->ended = true;
}

size_t output_log_left(const struct output_log *log, const struct place *place)
{
	size_t left = 0;

	for (int i = 0; i < 2; i++) {
		size_t size = log->data[i].size;
		left += place->seen[i] < size ? size - place->seen[i] : 0;
	}
	return left;
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

/* The last two segments can grow: whoever has seen all of them looks there again. */
static size_t first_segment(const struct output_log *log, const struct place *place)
{
	size_t settled = log->count > 2 ? log->count - 2 : 0;

	return place->segment < settled ? place->segment : settled;
}

bool output_log_next(const struct output_log *log, struct place *place, struct output_part *ret)
{
	bool waits = false; /* an earlier segment has bytes that cannot go yet */

	for (size_t i = first_segment(log, place); i < log->count; i++) {
		const struct segment *segment = &log->segments[i];
		const struct buf *output = &log->data[segment->stream == 2];
		size_t *seen = &place->seen[segment->stream == 2];

		place->segment = waits ? place->segment : i;
		if (segment->end <= *seen) {
			continue;
		}
		size_t size = segment->end - *seen;
		size = size > OUTPUT_PART_MAX ? OUTPUT_PART_MAX : size;
		size_t whole = whole_characters(output->data + *seen, size);
		if (whole == 0 && *seen + size == output->size && !log->ended) {
			waits = true;
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
