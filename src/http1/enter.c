/* SPDX-License-Identifier: Apache-2.0 */
/* Actions on entering a state. */
#include <assert.h>
#include <string.h>

#include "http1/characters.h"
#include "http1/states.h"

#define CHUNK_DIGITS_MAX 8
#define STATUS_DIGITS    3

enum http1_event http1_fail(struct http1_reader *reader, enum http1_error error)
{
	reader->state = HTTP1_FAILED;
	reader->error = error;
	return HTTP1_WRONG;
}

static enum http1_event end_method(struct http1_reader *reader, unsigned char c)
{
	(void)c;
	reader->line.method_size = reader->head_size - 1;
	reader->line.target_at = reader->head_size;
	return HTTP1_MORE;
}

static enum http1_event take_target(struct http1_reader *reader, unsigned char c)
{
	bool fine = !character_is(c, CLASS_HIGH) || reader->rules->raw_target;

	return fine ? HTTP1_MORE : http1_fail(reader, HTTP1_BAD_LINE_BYTE);
}

/* The blank before it, then its bytes. */
static enum http1_event take_version(struct http1_reader *reader, unsigned char c)
{
	struct http1_line *line = &reader->line;

	if (c == ' ') {
		line->target_size = reader->head_size - 1 - line->target_at;
		return HTTP1_MORE;
	}
	if (line->version_size == HTTP1_VERSION_SIZE) {
		return http1_fail(reader, HTTP1_BAD_VERSION);
	}
	line->version[line->version_size++] = (char)c;
	return HTTP1_MORE;
}

static enum http1_event take_status(struct http1_reader *reader, unsigned char c)
{
	struct http1_line *line = &reader->line;

	if (c == ' ') {
		return HTTP1_MORE;
	}
	line->status = line->status * 10 + (c - '0');
	return ++line->status_digits <= STATUS_DIGITS ? HTTP1_MORE
						      : http1_fail(reader, HTTP1_BAD_STATUS);
}

static enum http1_error check_version(struct http1_line *line)
{
	const char *text = line->version;

	if (line->version_size != HTTP1_VERSION_SIZE || memcmp(text, "HTTP/", 5) != 0 ||
	    text[6] != '.' || !character_is_digit((unsigned char)text[5]) ||
	    !character_is_digit((unsigned char)text[7])) {
		return HTTP1_BAD_VERSION;
	}
	if (text[5] != '1' || text[7] > '1') {
		return HTTP1_OTHER_VERSION;
	}
	line->minor = (unsigned)(text[7] - '0');
	return HTTP1_FINE;
}

static enum http1_event end_line(struct http1_reader *reader)
{
	const struct http1_line *line = &reader->line;
	enum http1_error error = check_version(&reader->line);

	if (!error && reader->rules->kind == HTTP1_RESPONSE &&
	    (line->status_digits != STATUS_DIGITS || line->status < 100 || line->status > 599)) {
		error = HTTP1_BAD_STATUS;
	}
	reader->fields_at = reader->head_size;
	return error ? http1_fail(reader, error) : HTTP1_LINE;
}

static enum http1_event begin_field(struct http1_reader *reader, unsigned char c)
{
	(void)c;
	if (!reader->fields_at) {
		return end_line(reader);
	}
	return ++reader->fields <= reader->rules->fields ? HTTP1_MORE
							 : http1_fail(reader, HTTP1_MANY_FIELDS);
}

static enum http1_event end_head(struct http1_reader *reader, unsigned char c)
{
	(void)reader;
	(void)c;
	return HTTP1_HEAD;
}

static enum http1_event take_chunk_size(struct http1_reader *reader, unsigned char c)
{
	reader->left = reader->left * 16 + (unsigned)character_hex(c);
	return ++reader->digits <= CHUNK_DIGITS_MAX ? HTTP1_MORE
						    : http1_fail(reader, HTTP1_LONG_CHUNK_SIZE);
}

static enum http1_event begin_extension(struct http1_reader *reader, unsigned char c)
{
	(void)c;
	return reader->rules->extra_bytes ? HTTP1_MORE
					  : http1_fail(reader, HTTP1_BAD_CHUNK_SIZE_END);
}

static enum http1_event begin_trailer(struct http1_reader *reader, unsigned char c)
{
	(void)c;
	return reader->rules->extra_bytes ? HTTP1_MORE : http1_fail(reader, HTTP1_BAD_TRAILER);
}

/* Refused by its size, before its data. */
static enum http1_event begin_chunk(struct http1_reader *reader, unsigned char c)
{
	(void)c;
	reader->digits = 0;
	if (reader->left > reader->body_left) {
		return http1_fail(reader, HTTP1_LARGE_BODY);
	}
	reader->body_left -= reader->left;
	if (reader->left == 0) {
		reader->state = HTTP1_TRAILER;
	}
	return HTTP1_MORE;
}

static enum http1_event end_message(struct http1_reader *reader, unsigned char c)
{
	(void)reader;
	(void)c;
	return HTTP1_END;
}

/* States that are not listed have no action. */
static enum http1_event (*const entered[HTTP1_STATES])(struct http1_reader *, unsigned char) = {
	[HTTP1_TARGET_FIRST] = end_method,    [HTTP1_TARGET] = take_target,
	[HTTP1_VERSION] = take_version,       [HTTP1_STATUS_VERSION] = take_version,
	[HTTP1_STATUS_CODE] = take_status,    [HTTP1_FIELD] = begin_field,
	[HTTP1_HEAD_DONE] = end_head,         [HTTP1_CHUNK_SIZE] = take_chunk_size,
	[HTTP1_EXTENSION] = begin_extension,  [HTTP1_CHUNK_DATA] = begin_chunk,
	[HTTP1_TRAILER_NAME] = begin_trailer, [HTTP1_DONE] = end_message,
};

enum http1_event http1_enter(struct http1_reader *reader, enum http1_state next, unsigned char c)
{
	assert(reader->state != HTTP1_FAILED && reader->state != HTTP1_DONE);
	reader->state = next;
	return entered[next] ? entered[next](reader, c) : HTTP1_MORE;
}
