/* SPDX-License-Identifier: Apache-2.0 */
/* A message in pieces, and the result of the HTTP/1 reader. Needs cmocka.h before it. */
#ifndef BRIG_TESTS_HTTP1_FIXTURE_H
#define BRIG_TESTS_HTTP1_FIXTURE_H

#include <string.h>

#include "base/bytes/buf.h"
#include "http1/http1.h"

struct fixture {
	struct http1_reader reader;
	struct buf head, body;
	unsigned lines;
	uint64_t limit;
};

static inline void begin(struct fixture *f, const struct http1_rules *rules)
{
	*f = (struct fixture){ .limit = 20 };
	http1_init(&f->reader, rules);
}

static inline void end(struct fixture *f)
{
	buf_done(&f->head);
	buf_done(&f->body);
}

/* Feeds one piece; returns how much of it is left. */
static inline size_t feed_piece(struct fixture *f, const char *text, size_t size)
{
	struct http1_text input = { text, size }, data;
	enum http1_event event = HTTP1_DATA;

	while (event != HTTP1_MORE && event != HTTP1_END && event != HTTP1_WRONG) {
		const char *before = input.at;
		bool in_head = f->reader.state < HTTP1_HEAD_DONE;
		event = http1_read(&f->reader, &input, &data);
		if (in_head) {
			buf_add(&f->head, before, (size_t)(input.at - before));
		}
		f->lines += event == HTTP1_LINE;
		if (event == HTTP1_DATA) {
			buf_add(&f->body, data.at, data.size);
		} else if (event == HTTP1_HEAD && http1_read_fields(&f->reader, f->head.data)) {
			http1_begin_body(&f->reader, f->limit);
		}
	}
	return input.size;
}

/* Feeds pieces up to the end of the message or to an error; returns how much was consumed. */
static inline size_t feed(struct fixture *f, const char *text, size_t piece)
{
	size_t size = strlen(text), left = 0;

	for (size_t at = 0; at < size && left == 0; at += piece) {
		size_t part = size - at < piece ? size - at : piece;
		left = feed_piece(f, text + at, part);
		if (left) {
			return at + part - left;
		}
	}
	return size;
}

static inline void check_error(const struct http1_rules *rules, const char *text,
			       enum http1_error error)
{
	for (size_t piece = 1; piece <= strlen(text); piece++) {
		struct fixture f;
		begin(&f, rules);
		feed(&f, text, piece);
		assert_int_equal(f.reader.error, error);
		assert_int_equal(f.reader.state, HTTP1_FAILED);
		assert_true(http1_error_status(error) >= 400);
		assert_non_null(http1_error_text(error));
		end(&f);
	}
}
#endif
