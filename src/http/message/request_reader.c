/* SPDX-License-Identifier: Apache-2.0 */
/* From bytes to one request: see request_reader.h. */
#include "http/message/request_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http/message/method.h"
#include "http/message/target.h"

static void refuse(struct http_reader *reader, int status, const char *why)
{
	reader->state = READER_REFUSED;
	reader->status = status;
	reader->why = why;
}

/* The message names the limit, its value, and its key in the configuration. */
static void refuse_size(struct http_reader *reader, int status, const char *what, size_t limit,
			const char *name)
{
	snprintf(reader->text, sizeof(reader->text), "%s more than %zu bytes%s%s%s", what, limit,
		 name ? " (" : "", name ? name : "", name ? ")" : "");
	refuse(reader, status, reader->text);
}

/* Limits are named as in the configuration. */
static void refuse_message(struct http_reader *reader)
{
	enum http1_error error = reader->http1.error;
	int status = http1_error_status(error);
	size_t head = reader->rules.head_bytes;

	switch (error) {
	case HTTP1_LONG_LINE:
		refuse_size(reader, status, "the request line has", head, "http.head_bytes");
		break;
	case HTTP1_LARGE_HEAD:
		refuse_size(reader, status, "the head has", head, "http.head_bytes");
		break;
	case HTTP1_MANY_FIELDS:
		refuse(reader, status, "there are too many headers (http.headers)");
		break;
	case HTTP1_LARGE_BODY:
		refuse_size(reader, status, "the body has", reader->body_limit, reader->limit_name);
		break;
	default:
		refuse(reader, status, http1_error_text(error));
		break;
	}
}

/* Chunk extensions and trailers are refused, although they are legal: no client sends them. */
void reader_init(struct http_reader *reader, const struct http_limits *limits,
		 struct body_pool *pool)
{
	*reader = (struct http_reader){
		.rules = { .kind = HTTP1_REQUEST,
			   .head_bytes = limits->head_bytes,
			   .fields = limits->headers },
		.body.pool = pool,
	};
	http1_init(&reader->http1, &reader->rules);
}

void reader_done(struct http_reader *reader)
{
	buf_done(&reader->head);
	free(reader->path);
	headers_done(&reader->headers);
	body_done(&reader->body);
}

/*
 * Right after the line, not at the end of the head: a client of another protocol may never send
 * one.
 */
static void end_line(struct http_reader *reader)
{
	const struct http1_line *line = &reader->http1.line;
	const char *head = reader->head.data, *why = NULL;
	int status = method_read(head, line->method_size, &reader->method, &why);

	if (!status) {
		status = target_read(head + line->target_at, line->target_size, &reader->path,
				     &reader->query_at, &why);
	}
	if (status) {
		refuse(reader, status, why);
	}
}

static void end_head(struct http_reader *reader)
{
	const struct http1_reader *http1 = &reader->http1;
	const char *why = NULL;

	if (!http1_read_fields(&reader->http1, reader->head.data)) {
		refuse_message(reader);
		return;
	}
	reader->target = reader->head.data + http1->line.target_at;
	reader->target[http1->line.target_size] = '\0';
	int status = headers_read(&reader->headers, reader->head.data, http1->fields_at,
				  http1->fields, &why);
	if (status) {
		refuse(reader, status, why);
	} else if (http1->framing.expects_other) {
		refuse(reader, 417, "the only supported expectation is \"100-continue\"");
	} else {
		reader->state = READER_HEAD_DONE;
	}
}

static void body_failed(struct http_reader *reader, int error)
{
	const struct body *body = &reader->body;

	switch (error) {
	case -EDQUOT:
		refuse_size(reader, 429, "the bodies of your requests have together",
			    body->budget->bodies_max, "http.tenant_body_bytes");
		break;
	case -ENOBUFS:
		refuse_size(reader, 503, "the bodies of all requests have together",
			    body->pool->limit, "http.bodies_bytes");
		break;
	default:
		refuse(reader, 503, "there is no memory for the body now");
		break;
	}
}

static void add_body(struct http_reader *reader, const struct http1_text *data)
{
	const struct http1_framing *framing = &reader->http1.framing;
	size_t expected = framing->chunked ? reader->body_limit : (size_t)framing->length;
	int r = body_add(&reader->body, data->at, data->size, expected);

	if (r < 0) {
		body_failed(reader, r);
	}
}

static void handle(struct http_reader *reader, enum http1_event event,
		   const struct http1_text *data)
{
	switch (event) {
	case HTTP1_MORE:
		break;
	case HTTP1_LINE:
		end_line(reader);
		break;
	case HTTP1_HEAD:
		end_head(reader);
		break;
	case HTTP1_DATA:
		add_body(reader, data);
		break;
	case HTTP1_END:
		reader->state = READER_DONE;
		break;
	case HTTP1_WRONG:
		refuse_message(reader);
		break;
	}
}

static enum http1_event read_some(struct http_reader *reader, struct http1_text *input)
{
	const char *before = input->at;
	struct http1_text data = { 0 };
	enum http1_event event = http1_read(&reader->http1, input, &data);

	if (reader->state == READER_HEAD) {
		buf_add(&reader->head, before, (size_t)(input->at - before));
	}
	if (reader->head.failed) {
		refuse(reader, 503, "out of memory");
	} else {
		handle(reader, event, &data);
	}
	return event;
}

size_t reader_feed(struct http_reader *reader, const char *data, size_t size)
{
	struct http1_text input = { data, size };
	enum http1_event event = HTTP1_DATA;

	while (event != HTTP1_MORE &&
	       (reader->state == READER_HEAD || reader->state == READER_BODY)) {
		event = read_some(reader, &input);
	}
	return size - input.size;
}

void reader_go_on(struct http_reader *reader, size_t limit, const char *name)
{
	reader->body_limit = limit;
	reader->limit_name = name;
	if (!http1_begin_body(&reader->http1, limit)) {
		refuse_message(reader);
	} else {
		reader->state = reader->http1.state == HTTP1_DONE ? READER_DONE : READER_BODY;
	}
}

size_t reader_wants(const struct http_reader *reader, size_t most)
{
	if (reader->state != READER_BODY || reader->http1.framing.chunked) {
		return most;
	}
	return reader->http1.left < most ? (size_t)reader->http1.left : most;
}
