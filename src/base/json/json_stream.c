/* SPDX-License-Identifier: Apache-2.0 */
/* JSON as it arrives: see json_stream.h. Linear in the text, whatever it contains. */
#include "base/json/json_stream.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes/buf.h"
#include "base/json/json_longs.h"

#define LONG_BYTES 64u /* a string that is worth extracting */
#define NAME_MAX_  32u /* of a key that is compared */

enum stream_state {
	STREAM_PLAIN, /* between strings */
	STREAM_KEY,   /* in a key: it is never extracted, however long */
	STREAM_SHORT, /* in a string that may still be short */
	STREAM_LONG,  /* in a long one */
};

struct json_stream {
	const struct json_stream_options *options;
	struct json_refusal why;
	bool refused;
	enum stream_state state;
	bool escaped;     /* in a string: the character before was a backslash */
	bool blank;       /* between strings: the character before was one */
	bool key_next;    /* the next string is a key */
	uint64_t objects; /* a bit for each level: it is an object, not an array */
	unsigned depth;
	size_t values;
	char key[NAME_MAX_]; /* the last one, undecoded... */
	size_t key_size;     /* ...if it fits */
	char first[LONG_BYTES];
	size_t first_size;
	struct buf plain; /* the rest, for jansson */
	struct json_long_writer writer;
};

struct json_stream *json_stream_new(const struct json_stream_options *options)
{
	struct json_stream *stream = calloc(1, sizeof(*stream));
	struct json_longs *longs = calloc(1, sizeof(*longs));

	if (!stream || !longs || options->bounds.depth > JSON_STREAM_DEPTH_MAX) {
		free(stream);
		free(longs);
		return NULL;
	}
	longs->refs = 1;
	stream->options = options;
	stream->writer.longs = longs;
	return stream;
}

static void drop(struct json_stream *stream)
{
	buf_done(&stream->plain);
	spool_done(&stream->writer.spool);
}

void json_stream_free(struct json_stream *stream)
{
	if (stream) {
		drop(stream);
		json_longs_unref(stream->writer.longs);
		free(stream);
	}
}

size_t json_stream_held(const struct json_stream *stream)
{
	return stream->plain.capacity + stream->writer.spool.size +
	       stream->writer.longs->room * sizeof(struct json_long);
}

static void refuse(struct json_stream *stream, enum json_refusal_kind kind,
		   enum json_error_code code, const char *text)
{
	if (!stream->refused) {
		stream->refused = true;
		stream->why = (struct json_refusal){ .kind = kind, .code = code };
		snprintf(stream->why.text, sizeof(stream->why.text), "%s", text);
		drop(stream);
	}
}

static void refuse_memory(struct json_stream *stream)
{
	refuse(stream, JSON_NO_MEMORY, json_error_out_of_memory, "out of memory");
}

/* Is the value of the last key base64, and is its hash requested? In any place of the document. */
static void look_at_key(const struct json_stream *stream, bool *ret_base64, bool *ret_hashed)
{
	*ret_base64 = *ret_hashed = false;
	for (size_t i = 0; i < stream->options->places_count; i++) {
		const struct json_place *place = &stream->options->places[i];
		const char *dot = strrchr(place->path, '.');
		const char *name = dot ? dot + 1 : place->path;
		if (strlen(name) == stream->key_size &&
		    memcmp(name, stream->key, stream->key_size) == 0) {
			*ret_base64 |= place->base64;
			*ret_hashed |= place->hashed;
		}
	}
}

static bool in_object(const struct json_stream *stream)
{
	return stream->depth > 0 && stream->objects >> (stream->depth - 1) & 1;
}

/* --- strings --------------------------------------------------------------------------------- */

static void write_long(struct json_stream *stream, const char *text, size_t size, bool final)
{
	struct json_part part;

	if (!json_long_take(&stream->writer, text, size, final, stream->options->bounds.allow_nul,
			    &part)) {
		refuse(stream, JSON_NOT_JSON, part.code, part.why);
	} else if (stream->writer.spool.error) {
		refuse_memory(stream);
	}
}

/* It is too long to keep, or could be mistaken for a mark. */
static void begin_long(struct json_stream *stream)
{
	size_t number = stream->writer.longs->count;
	bool base64, hashed, named = in_object(stream);

	look_at_key(stream, &base64, &hashed);
	if (!json_long_begin(&stream->writer, named && base64, named && hashed)) {
		refuse_memory(stream);
		return;
	}
	buf_addf(&stream->plain, "\"" JSON_MARK_TEXT "%zu\"", number);
	stream->state = STREAM_LONG;
	write_long(stream, stream->first, stream->first_size, false);
}

static bool is_mark(const struct json_stream *stream)
{
	size_t size = strlen(JSON_MARK_TEXT);

	return stream->first_size >= size && memcmp(stream->first, JSON_MARK_TEXT, size) == 0;
}

/* Returns how many bytes were consumed: the rest belongs to a long string. */
static size_t short_part(struct json_stream *stream, const char *text, size_t size, bool end)
{
	size_t room = sizeof(stream->first) - stream->first_size;
	size_t part = size < room ? size : room;

	memcpy(stream->first + stream->first_size, text, part);
	stream->first_size += part;
	if (stream->first_size == sizeof(stream->first) || (end && is_mark(stream))) {
		begin_long(stream);
	} else if (end) {
		buf_addc(&stream->plain, '"');
		buf_add(&stream->plain, stream->first, stream->first_size);
		buf_addc(&stream->plain, '"');
	}
	return part;
}

static void key_part(struct json_stream *stream, const char *text, size_t size, bool end)
{
	size_t room = sizeof(stream->key) - stream->key_size;
	size_t part = size < room ? size : room;

	memcpy(stream->key + stream->key_size, text, part);
	stream->key_size += part;
	buf_add(&stream->plain, text, size);
	if (end) {
		buf_addc(&stream->plain, '"');
	}
}

/* Text between quotes, or a part of it. */
static void string_part(struct json_stream *stream, const char *text, size_t size, bool end)
{
	size_t taken = 0;

	if (stream->state == STREAM_KEY) {
		key_part(stream, text, size, end);
		return;
	}
	if (stream->state == STREAM_SHORT) {
		taken = short_part(stream, text, size, end);
	}
	if (stream->state == STREAM_LONG && !stream->refused && (taken < size || end)) {
		write_long(stream, text + taken, size - taken, end);
	}
}

/* The number of bytes that belong to the string, and whether its quote follows. */
static size_t string_span(struct json_stream *stream, const char *text, size_t size, bool *ret_end)
{
	size_t at = stream->escaped ? 1 : 0;
	const char *quote = memchr(text + at, '"', size - at);
	const char *slash;

	stream->escaped = false;
	*ret_end = false;
	while ((slash = memchr(text + at, '\\', (quote ? (size_t)(quote - text) : size) - at))) {
		at = (size_t)(slash - text) + 2;
		if (at > size) {
			stream->escaped = true;
			return size;
		}
		/* Only if that quote was escaped, another one must be searched. */
		if (quote && text + at > quote) {
			quote = memchr(text + at, '"', size - at);
		}
	}
	*ret_end = quote != NULL;
	return quote ? (size_t)(quote - text) : size;
}

static size_t take_string(struct json_stream *stream, const char *text, size_t size)
{
	bool end;
	size_t span = string_span(stream, text, size, &end);

	string_part(stream, text, span, end);
	if (end) {
		stream->state = STREAM_PLAIN;
	}
	return span + end;
}

/* --- between strings ------------------------------------------------------------------------- */

static void begin_string(struct json_stream *stream)
{
	if (stream->key_next) {
		stream->state = STREAM_KEY;
		stream->key_size = 0;
		buf_addc(&stream->plain, '"');
	} else {
		stream->state = STREAM_SHORT;
		stream->first_size = 0;
	}
}

static void open_level(struct json_stream *stream, bool object)
{
	if (stream->depth == stream->options->bounds.depth) {
		refuse(stream, JSON_TOO_DEEP, json_error_stack_overflow, "nested too deep");
		return;
	}
	uint64_t bit = UINT64_C(1) << stream->depth++;
	stream->objects = object ? stream->objects | bit : stream->objects & ~bit;
	stream->key_next = object;
}

static void take_character(struct json_stream *stream, char c)
{
	bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r';

	stream->values += c == '{' || c == '[' || c == ',' || c == ':';
	switch (c) {
	case '"':
		begin_string(stream);
		break;
	case '{':
	case '[':
		open_level(stream, c == '{');
		break;
	case '}':
	case ']':
		stream->depth -= stream->depth > 0;
		stream->key_next = false;
		break;
	case ',':
		stream->key_next = in_object(stream);
		break;
	case ':':
		stream->key_next = false;
		break;
	default:
		break;
	}
	/* Blanks are reduced to one: there may be megabytes of them. */
	if (c != '"' && !(blank && stream->blank)) {
		buf_addc(&stream->plain, c);
	}
	stream->blank = blank;
}

void json_stream_take(struct json_stream *stream, const char *text, size_t size)
{
	const struct json_bounds *bounds = &stream->options->bounds;

	for (size_t at = 0; at < size && !stream->refused;) {
		if (stream->state == STREAM_PLAIN) {
			take_character(stream, text[at++]);
		} else {
			at += take_string(stream, text + at, size - at);
		}
		if (stream->values > bounds->values ||
		    (bounds->plain_max && stream->plain.size > bounds->plain_max)) {
			refuse(stream, JSON_TOO_MANY, json_error_unknown, "too many values");
		} else if (stream->plain.failed) {
			refuse_memory(stream);
		}
	}
}

/* --- the end --------------------------------------------------------------------------------- */

static json_t *parse(struct json_stream *stream)
{
	bool nul = stream->options->bounds.allow_nul;
	json_error_t error;
	json_t *root = json_loadb(stream->plain.data ? stream->plain.data : "", stream->plain.size,
				  JSON_REJECT_DUPLICATES | (nul ? JSON_ALLOW_NUL : 0), &error);

	if (!root) {
		enum json_error_code code = json_error_code(&error);
		refuse(stream, code == json_error_out_of_memory ? JSON_NO_MEMORY : JSON_NOT_JSON,
		       code, error.text);
	}
	return root;
}

/* The file is complete; its strings can be read from now on. */
static bool seal(struct json_stream *stream)
{
	struct json_longs *longs = stream->writer.longs;

	if (longs->count > 0 && spool_end(&stream->writer.spool, &longs->block) < 0) {
		refuse_memory(stream);
	}
	return !stream->refused;
}

json_t *json_stream_end(struct json_stream *stream, struct json_longs **ret,
			struct json_refusal *why)
{
	if (stream->state != STREAM_PLAIN) {
		refuse(stream, JSON_NOT_JSON, json_error_premature_end_of_input,
		       "a string has no end");
	}
	json_t *root = stream->refused ? NULL : parse(stream);
	int r = root && seal(stream)
			? json_longs_put_back(stream->writer.longs, stream->options, root)
			: -ENOMEM;
	if (r == -E2BIG) {
		refuse(stream, JSON_TOO_MANY, json_error_unknown, "too many values");
	} else if (r < 0) {
		refuse_memory(stream);
	}
	if (r < 0) {
		json_decref(root);
		root = NULL;
	}
	*why = stream->why;
	*ret = root ? json_longs_ref(stream->writer.longs) : NULL;
	return root;
}
