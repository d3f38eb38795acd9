/* SPDX-License-Identifier: Apache-2.0 */
/* The reader: see http1.h. It walks the rows of states.c. */
#include <assert.h>

#include "http1/characters.h"
#include "http1/states.h"

void http1_init(struct http1_reader *reader, const struct http1_rules *rules)
{
	*reader = (struct http1_reader){
		.rules = rules,
		.state = rules->kind == HTTP1_REQUEST ? HTTP1_METHOD_FIRST : HTTP1_STATUS_VERSION,
	};
}

/* How many more bytes this state may use. */
static size_t allowance(const struct http1_reader *reader, enum http1_budget budget)
{
	switch (budget) {
	case HTTP1_COUNTS_LINE:
	case HTTP1_COUNTS_HEAD:
		return reader->rules->head_bytes - reader->head_size;
	case HTTP1_COUNTS_EXTRA:
		return reader->rules->extra_bytes - reader->extra_size;
	case HTTP1_UNCOUNTED:
		break;
	}
	return SIZE_MAX;
}

static enum http1_event exceed(struct http1_reader *reader, enum http1_budget budget)
{
	static const enum http1_error errors[] = {
		[HTTP1_COUNTS_LINE] = HTTP1_LONG_LINE,
		[HTTP1_COUNTS_HEAD] = HTTP1_LARGE_HEAD,
		[HTTP1_COUNTS_EXTRA] = HTTP1_LARGE_EXTRA,
	};

	return http1_fail(reader, errors[budget]);
}

static void take(struct http1_reader *reader, struct http1_text *input, enum http1_budget budget,
		 size_t size)
{
	input->at += size;
	input->size -= size;
	if (budget == HTTP1_COUNTS_EXTRA) {
		reader->extra_size += size;
	} else if (budget != HTTP1_UNCOUNTED) {
		reader->head_size += size;
	}
}

/* How many of these bytes stay in the state. */
static size_t count_stay(const char *at, size_t size, unsigned stay)
{
	size_t count = 0;

	while (count < size && character_is((unsigned char)at[count], stay)) {
		count++;
	}
	return count;
}

static enum http1_event follow_edge(struct http1_reader *reader, const struct http1_row *row,
				    unsigned char c)
{
	for (unsigned i = 0; i < HTTP1_EDGES_MAX; i++) {
		const struct http1_edge *edge = &row->edges[i];
		if (character_is(c, edge->on)) {
			return edge->error ? http1_fail(reader, edge->error)
					   : http1_enter(reader, edge->next, c);
		}
	}
	return http1_fail(reader, row->otherwise);
}

/* One state: the bytes that stay in it, and the byte that leads out of it. */
static enum http1_event walk(struct http1_reader *reader, struct http1_text *input)
{
	const struct http1_row *row = &http1_rows[reader->state];
	size_t most = allowance(reader, row->budget);

	if (most == 0) {
		return exceed(reader, row->budget);
	}
	size_t size = input->size < most ? input->size : most;
	size_t stays = count_stay(input->at, size, row->stay);
	if (stays == size) {
		take(reader, input, row->budget, stays);
		return HTTP1_MORE;
	}
	unsigned char c = (unsigned char)input->at[stays];
	take(reader, input, row->budget, stays + 1);
	return follow_edge(reader, row, c);
}

/* Another state begins at the end of the body's data. */
static enum http1_event take_data(struct http1_reader *reader, struct http1_text *input,
				  struct http1_text *ret)
{
	size_t size = input->size < reader->left ? input->size : (size_t)reader->left;

	if (size == 0) {
		return http1_fail(reader, HTTP1_LARGE_BODY); /* when its end is not known */
	}
	*ret = (struct http1_text){ input->at, size };
	take(reader, input, HTTP1_UNCOUNTED, size);
	reader->left -= size;
	if (reader->left == 0 && reader->state != HTTP1_UNTIL_CLOSE) {
		reader->state = reader->state == HTTP1_LENGTH ? HTTP1_DONE : HTTP1_CHUNK_DATA_CR;
	}
	return HTTP1_DATA;
}

static enum http1_event read_one(struct http1_reader *reader, struct http1_text *input,
				 struct http1_text *ret_data)
{
	switch (reader->state) {
	case HTTP1_LENGTH:
	case HTTP1_CHUNK_DATA:
	case HTTP1_UNTIL_CLOSE:
		return take_data(reader, input, ret_data);
	default:
		return walk(reader, input);
	}
}

enum http1_event http1_read(struct http1_reader *reader, struct http1_text *input,
			    struct http1_text *ret_data)
{
	enum http1_event event = HTTP1_MORE;

	switch (reader->state) {
	case HTTP1_HEAD_DONE:
		return HTTP1_HEAD;
	case HTTP1_DONE:
		return HTTP1_END;
	case HTTP1_FAILED:
		return HTTP1_WRONG;
	default:
		break;
	}
	while (event == HTTP1_MORE && input->size > 0) {
		event = read_one(reader, input, ret_data);
	}
	return event;
}

static bool has_no_body(const struct http1_reader *reader)
{
	unsigned status = reader->line.status;

	if (reader->rules->kind == HTTP1_REQUEST) {
		return !reader->framing.chunked && reader->framing.length == 0;
	}
	return reader->answers_head || status < 200 || status == 204 || status == 304 ||
	       (reader->framing.has_length && reader->framing.length == 0);
}

bool http1_is_until_close(const struct http1_reader *reader)
{
	return !has_no_body(reader) && !reader->framing.chunked && !reader->framing.has_length;
}

bool http1_is_interim(const struct http1_reader *reader)
{
	return reader->line.status < 200 && reader->line.status != 101;
}

bool http1_begin_body(struct http1_reader *reader, uint64_t limit)
{
	assert(reader->state == HTTP1_HEAD_DONE);
	if (has_no_body(reader)) {
		reader->state = HTTP1_DONE;
	} else if (reader->framing.chunked) {
		reader->body_left = limit;
		reader->state = HTTP1_CHUNK;
	} else if (!reader->framing.has_length) {
		reader->left = limit;
		reader->state = HTTP1_UNTIL_CLOSE;
	} else if (reader->framing.length > limit) {
		http1_fail(reader, HTTP1_LARGE_BODY);
	} else {
		reader->left = reader->framing.length;
		reader->state = HTTP1_LENGTH;
	}
	return reader->state != HTTP1_FAILED;
}

enum http1_event http1_close(struct http1_reader *reader)
{
	if (reader->state == HTTP1_UNTIL_CLOSE) {
		reader->state = HTTP1_DONE;
	}
	if (reader->state == HTTP1_DONE) {
		return HTTP1_END;
	}
	return reader->state == HTTP1_FAILED ? HTTP1_WRONG : http1_fail(reader, HTTP1_CUT_OFF);
}
