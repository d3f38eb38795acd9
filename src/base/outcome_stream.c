/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the long parts of a result, a slice at a time: see outcome.h. */
#include <stdlib.h>
#include <string.h>

#include "base/bytes/base64.h"
#include "base/bytes/utf8.h"
#include "base/json/json_bounded.h"
#include "base/outcome.h"

#define FILE_HEAD_MAX (64u << 10)

void outcome_stream_open(const struct outcome *outcome, const char *json, int stream,
			 struct outcome_stream *ret)
{
	const struct outcome_part *part = &outcome->parts[stream ? OUTCOME_STDERR : OUTCOME_STDOUT];

	*ret = (struct outcome_stream){ .base64 = outcome->flags & OUTCOME_BASE64 };
	if (part->size >= 2) {
		ret->begin = ret->at = json + part->at + 1;
		ret->end = json + part->at + part->size - 1;
	}
}

/* The number of bytes that a base64 text decodes to. */
static size_t base64_bytes(const char *text, size_t size)
{
	size_t bytes = size / 4 * 3;

	for (size_t i = 1; i <= 2 && i <= size && text[size - i] == '='; i++) {
		bytes--;
	}
	return size ? bytes : 0;
}

/* The length of an escape in the text; 0: it is cut. */
static size_t escape_size(const char *at, size_t left)
{
	size_t size = left > 1 && at[1] == 'u' ? 6 : 2;

	/* The first half of a pair: includes the other one. */
	if (size == 6 && left >= 12 && (at[2] | 0x20) == 'd' && strchr("89abAB", at[3]) &&
	    at[6] == '\\') {
		size = 12;
	}
	return size <= left ? size : 0;
}

/* One step of a text: a run of plain bytes or an escape. 0: the end, or invalid. */
static size_t text_step(struct outcome_stream *stream, char *out, size_t room)
{
	size_t left = (size_t)(stream->end - stream->at);
	size_t run = left < room ? left : room, decoded = 0;
	const char *why, *slash = left ? memchr(stream->at, '\\', run) : NULL;

	if (left == 0) {
		return 0;
	}
	if (slash == stream->at) {
		char bytes[12];
		size_t took = escape_size(stream->at, left);

		if (took == 0 || json_string_decode(stream->at, took, true, bytes, &decoded,
						    &why) != json_error_unknown) {
			stream->at = stream->end;
			return 0;
		}
		if (decoded > room) {
			return 0;
		}
		if (out) {
			memcpy(out, bytes, decoded);
		}
		stream->at += took;
		return decoded;
	}
	run = slash ? (size_t)(slash - stream->at) : run;
	/* Not in the middle of a character, unless it is longer than any valid one. */
	for (size_t back = 0; !slash && run < left && back < 3 && run > 1; back++) {
		if (!utf8_continues(stream->at[run])) {
			break;
		}
		run--;
	}
	if (out) {
		memcpy(out, stream->at, run);
	}
	stream->at += run;
	return run;
}

static size_t text_take(struct outcome_stream *stream, char *out, size_t room)
{
	size_t used = 0, step;

	do {
		step = used < room ? text_step(stream, out ? out + used : NULL, room - used) : 0;
		used += step;
		/* The last bytes of the room may be too few for a character: leave them. */
	} while (step > 0 && room - used >= 4);
	return used;
}

/* The position can be computed: four characters for three bytes. */
static size_t base64_read(struct outcome_stream *stream, char *out, size_t room)
{
	size_t size = (size_t)(stream->end - stream->begin);
	size_t at = stream->offset / 3 * 4, drop = stream->offset % 3, got = 0;
	size_t take = room / 3 * 4;

	if (at >= size) {
		return 0;
	}
	take = take < size - at ? take : size - at;
	if (!base64_decode(stream->begin + at, take, (unsigned char *)out, &got) || got <= drop) {
		return 0;
	}
	memmove(out, out + drop, got - drop);
	return got - drop;
}

/* Bytes at the end that begin an incomplete character. */
static size_t unfinished(const char *data, size_t size)
{
	for (size_t back = 1; back <= 3 && back < size; back++) {
		unsigned char byte = (unsigned char)data[size - back];
		size_t wanted = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;

		if (!utf8_continues((char)byte)) {
			return wanted > back ? back : 0;
		}
	}
	return 0;
}

size_t outcome_stream_read(struct outcome_stream *stream, char *out, size_t room)
{
	size_t got = stream->base64 ? base64_read(stream, out, room) : text_take(stream, out, room);

	if (stream->base64 && got) {
		size_t all = base64_bytes(stream->begin, (size_t)(stream->end - stream->begin));
		got -= stream->offset + got < all ? unfinished(out, got) : 0;
	}
	stream->offset += got;
	return got;
}

size_t outcome_stream_skip(struct outcome_stream *stream, size_t size)
{
	size_t passed = 0, step;

	if (stream->base64) {
		size_t all = base64_bytes(stream->begin, (size_t)(stream->end - stream->begin));
		passed = all - stream->offset < size ? all - stream->offset : size;
	} else {
		while (passed < size && (step = text_step(stream, NULL, size - passed)) > 0) {
			passed += step;
		}
	}
	stream->offset += passed;
	return passed;
}

static const char path_key[] = "{\"path\":\"";
static const char size_key[] = "\",\"size\":";

/* The end of the path: no text before it can contain a quote. */
static const char *path_end(const char *head, size_t head_size)
{
	return memmem(head, head_size, size_key, sizeof(size_key) - 1);
}

static bool file_size(const char *head, size_t head_size, uint64_t *ret)
{
	const char *found = path_end(head, head_size);

	*ret = found ? strtoull(found + sizeof(size_key) - 1, NULL, 10) : 0;
	return found != NULL;
}

/* Paths are long, and there may be thousands: a parser of JSON would take ten times as long. */
char *outcome_file_path(const struct outcome_file *file)
{
	const size_t begin = sizeof(path_key) - 1;
	const char *end = path_end(file->head, file->head_size), *why;
	size_t size = 0;

	if (!end || (size_t)(end - file->head) < begin ||
	    memcmp(file->head, path_key, begin) != 0) {
		return NULL;
	}
	size_t length = (size_t)(end - file->head) - begin;
	char *path = malloc(length + 1);
	if (path && json_string_decode(file->head + begin, length, false, path, &size, &why) !=
			    json_error_unknown) {
		free(path);
		return NULL;
	}
	if (path) {
		path[size] = '\0';
	}
	return path;
}

void outcome_file_rest(const struct outcome_file *file, struct buf *out)
{
	const char *end = path_end(file->head, file->head_size);

	buf_addc(out, '{');
	if (end) {
		buf_add(out, end + 2, file->head_size - (size_t)(end + 2 - file->head));
	}
	buf_addc(out, '}');
}

bool outcome_file_next(const struct outcome *outcome, const char *json, size_t *at,
		       struct outcome_file *ret)
{
	static const char key[] = ",\"content_base64\":\"";
	const struct outcome_part *part = &outcome->parts[OUTCOME_FILES];
	const char *begin = json + part->at + (*at ? *at : 1);
	const char *end = json + part->at + part->size;

	if (part->size < 3 || begin >= end || *begin != '{') {
		return false;
	}
	size_t look = (size_t)(end - begin) < FILE_HEAD_MAX ? (size_t)(end - begin) : FILE_HEAD_MAX;
	const char *found = memmem(begin, look, key, sizeof(key) - 1);
	if (!found || !file_size(begin, (size_t)(found - begin), &ret->size) ||
	    ret->size > OUTCOME_JSON_MAX) {
		return false;
	}
	ret->head = begin;
	ret->head_size = (size_t)(found - begin);
	ret->base64 = found + sizeof(key) - 1;
	ret->base64_size = (size_t)(ret->size + 2) / 3 * 4;
	if ((size_t)(end - ret->base64) < ret->base64_size + 3 ||
	    memcmp(ret->base64 + ret->base64_size, "\"}", 2) != 0) {
		return false;
	}
	/* Behind the object, and behind the comma if there is one. */
	const char *next = ret->base64 + ret->base64_size + 2;
	*at = (size_t)(next - (json + part->at)) + (*next == ',');
	return true;
}
