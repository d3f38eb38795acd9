/* SPDX-License-Identifier: Apache-2.0 */
/* The output of a run so far: see output_log.h. */
#include "front/execution/output_log.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes/buf.h"
#include "base/bytes/utf8.h"

/* Bytes of one stream, up to the next byte of the other one. */
struct segment {
	int stream;
	size_t end; /* counted in bytes of this stream */
};

struct output_log {
	unsigned refs;
	bool ended;
	struct buf data[2];
	size_t gone[2];           /* bytes before them that are not kept any more */
	struct segment *segments; /* owned; the streams alternate */
	size_t count, room;
	size_t segments_gone;
	struct output_budget *budget; /* NULL: not counted */
	size_t charged;
};

struct output_log *output_log_new(struct output_budget *budget)
{
	struct output_log *log = calloc(1, sizeof(*log));

	if (log) {
		log->refs = 1;
		log->budget = budget;
	}
	return log;
}

struct output_log *output_log_ref(struct output_log *log)
{
	log->refs++;
	return log;
}

static size_t kept(const struct output_log *log)
{
	return log->data[0].size + log->data[1].size;
}

static size_t stream_end(const struct output_log *log, int i)
{
	return log->gone[i] + log->data[i].size;
}

static void recount(struct output_log *log, size_t now)
{
	if (log->budget) {
		log->budget->used += now - log->charged;
		log->charged = now;
	}
}

void output_log_unref(struct output_log *log)
{
	if (!log || --log->refs > 0) {
		return;
	}
	recount(log, 0);
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

/* The segment for the next bytes of the stream; NULL: there is none, and no memory for one. */
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
	/* The second to last: the streams alternate. */
	return log->count > 1 ? &log->segments[log->count - 2] : NULL;
}

/* --- dropping old output --------------------------------------------------------------------- */

static void cut_stream(struct output_log *log, int i, size_t tail)
{
	struct buf *data = &log->data[i];
	struct buf rest = { 0 };
	size_t more = data->size > tail ? data->size - tail : 0;

	if (more == 0) {
		return;
	}
	buf_add(&rest, data->data + more, tail);
	log->gone[i] += rest.failed ? data->size : more;
	buf_done(data);
	*data = rest;
	if (rest.failed) {
		buf_done(data);
	}
}

/* Drops the first segments, which are empty now; the last two can still grow. */
static void cut_segments(struct output_log *log)
{
	size_t first = 0;

	while (first + 2 < log->count &&
	       log->segments[first].end <= log->gone[log->segments[first].stream == 2]) {
		first++;
	}
	log->count -= first;
	log->segments_gone += first;
	memmove(log->segments, log->segments + first, log->count * sizeof(*log->segments));
}

static void cut(struct output_log *log, size_t tail)
{
	cut_stream(log, 0, tail);
	cut_stream(log, 1, tail);
	if (log->segments) {
		cut_segments(log);
	}
	recount(log, kept(log));
}

static bool has_room(const struct output_log *log, size_t size)
{
	const struct output_budget *budget = log->budget;

	return !budget || budget->max == 0 ||
	       (budget->used <= budget->max && size <= budget->max - budget->used);
}

void output_log_add(struct output_log *log, int stream, const void *data, size_t size)
{
	int i = stream == 2;
	struct segment *segment = segment_for(log, stream);

	buf_add(&log->data[i], data, size);
	if (log->data[i].failed) {
		log->gone[i] += log->data[i].size + size;
		buf_done(&log->data[i]);
	}
	if (segment) {
		segment->end = stream_end(log, i);
	}
	if (log->data[i].size > 2 * OUTPUT_TAIL && !has_room(log, kept(log) - log->charged)) {
		cut(log, OUTPUT_TAIL);
	}
	recount(log, kept(log));
}

void output_log_end(struct output_log *log)
{
	log->ended = true;
	recount(log, 0);
	log->budget = NULL;
}

void output_log_clear(struct output_log *log)
{
	cut(log, 0);
}

bool output_log_lacks(const struct output_log *log, const struct output_log_position *position)
{
	return position->seen[0] < log->gone[0] || position->seen[1] < log->gone[1];
}

/* --- readers --------------------------------------------------------------------------------- */

size_t output_log_left(const struct output_log *log, const struct output_log_position *position)
{
	size_t left = 0;

	for (int i = 0; i < 2; i++) {
		size_t from = position->seen[i] > log->gone[i] ? position->seen[i] : log->gone[i];
		size_t end = stream_end(log, i);
		left += from < end ? end - from : 0;
	}
	return left;
}

/* A partial character waits for its rest: how many of these bytes can be sent now. */
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

/* The last two segments can grow: a reader that has seen all of them looks there again. */
static size_t first_segment(const struct output_log *log,
			    const struct output_log_position *position)
{
	size_t settled = log->count > 2 ? log->count - 2 : 0;
	size_t first =
		position->segment > log->segments_gone ? position->segment - log->segments_gone : 0;

	return first < settled ? first : settled;
}

bool output_log_next(const struct output_log *log, struct output_log_position *position,
		     struct output_part *ret)
{
	bool waits = false; /* an earlier segment has bytes that cannot be sent yet */

	if (output_log_lacks(log, position)) {
		return false;
	}
	for (size_t i = first_segment(log, position); i < log->count; i++) {
		const struct segment *segment = &log->segments[i];
		int which = segment->stream == 2;
		size_t *seen = &position->seen[which];

		position->segment = waits ? position->segment : log->segments_gone + i;
		if (segment->end <= *seen) {
			continue;
		}
		const char *data = log->data[which].data + (*seen - log->gone[which]);
		size_t size = segment->end - *seen;
		size = size > OUTPUT_PART_MAX ? OUTPUT_PART_MAX : size;
		size_t whole = whole_characters(data, size);
		if (whole == 0 && *seen + size == stream_end(log, which) && !log->ended) {
			waits = true;
			continue;
		}
		*ret = (struct output_part){ .stream = segment->stream,
					     .data = data,
					     .size = whole ? whole : size };
		*seen += ret->size;
		return true;
	}
	return false;
}
