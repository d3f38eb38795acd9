/* From bytes to one request: see reader.h. */
#include "http/reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "http/target.h"

static void refuse(struct reader *reader, int status, const char *why)
{
	reader->state = READER_REFUSED;
	reader->status = status;
	reader->why = why;
}

void reader_init(struct reader *reader, const struct http_limits *limits, struct body_pool *pool)
{
	*reader = (struct reader){ .limits = limits, .body.pool = pool };
	if (opinion_init(&reader->opinion, &reader->body) < 0) {
		refuse(reader, 503, "out of memory");
	}
}

void reader_done(struct reader *reader)
{
	buf_done(&reader->head);
	free(reader->path);
	headers_done(&reader->headers);
	body_done(&reader->body);
	opinion_done(&reader->opinion);
}

/* Right after the line, not at the end of the head: who speaks no HTTP/1 may never send one. */
static void end_request_line(struct reader *reader)
{
	const char *why = NULL;
	const char *head = reader->head.data;
	int status = request_line_read(head, reader->head.size - 2, &reader->line, &why);

	if (!status) {
		status = target_read(head + reader->line.target_at, reader->line.target_size,
				     &reader->path, &reader->query_at, &why);
	}
	if (status) {
		refuse(reader, status, why);
	}
}

static void end_head(struct reader *reader)
{
	const char *why = NULL;
	unsigned count = reader->head_guard.lines - 1;
	/* Before the head is cut into strings. */
	bool understood = opinion_head(&reader->opinion, reader->head.data, reader->head.size);

	reader->target = reader->head.data + reader->line.target_at;
	char *lines = strchr(reader->target, '\n') + 1;
	reader->target[reader->line.target_size] = '\0';
	int status = headers_read(&reader->headers, lines, count, &why);
	status =
		status ? status
		       : framing_read(&reader->framing, &reader->headers, reader->line.minor, &why);
	if (status) {
		refuse(reader, status, why);
		return;
	}
	if (!understood ||
	    !opinion_agrees(&reader->opinion, &reader->line, &reader->framing, count)) {
		refuse(reader, 400, "the head can be read in two ways");
		return;
	}
	reader->state = READER_HEAD_DONE;
}

static void head_too_large(struct reader *reader)
{
	if (reader->head_guard.lines == 0) {
		refuse(reader, 414, "the request line is too long");
	} else {
		refuse(reader, 431, "the head is too large");
	}
}

/* What a byte has completed. */
static void after_byte(struct reader *reader, enum head_guard_step step, const char *why)
{
	switch (step) {
	case HEAD_GUARD_MORE:
		break;
	case HEAD_GUARD_WRONG:
		refuse(reader, 400, why);
		break;
	case HEAD_GUARD_LINE_DONE:
		if (reader->head_guard.lines == 1) {
			end_request_line(reader);
		} else if (reader->head_guard.lines - 1 > reader->limits->headers) {
			refuse(reader, 431, "there are too many headers");
		}
		break;
	case HEAD_GUARD_DONE:
		end_head(reader);
		break;
	}
}

static size_t feed_head(struct reader *reader, const char *data, size_t size)
{
	size_t at = 0;
	size_t kept = 0;

	while (at < size && reader->state == READER_HEAD) {
		const char *why = NULL;
		if (reader->head.size + at - kept >= reader->limits->head_bytes) {
			head_too_large(reader);
			break;
		}
		enum head_guard_step step =
			head_guard_take(&reader->head_guard, (unsigned char)data[at], &why);
		at++;
		/* The steps look at the text. */
		if (step != HEAD_GUARD_MORE || at == size) {
			buf_add(&reader->head, data + kept, at - kept);
			kept = at;
		}
		if (reader->head.failed) {
			refuse(reader, 503, "out of memory");
			break;
		}
		after_byte(reader, step, why);
	}
	return at;
}

static void body_failed(struct reader *reader)
{
	if (reader->opinion.body_error == -EDQUOT) {
		refuse(reader, 429,
		       "the bodies of your requests are too large together "
		       "(http.tenant_body_bytes)");
	} else if (reader->opinion.body_error == -ENOBUFS) {
		refuse(reader, 503,
		       "the bodies of all requests are too large together "
		       "(http.bodies_bytes)");
	} else if (reader->opinion.body_error < 0) {
		refuse(reader, 503, "there is no memory for the body now");
	} else {
		refuse(reader, 400, "the body can be read in two ways");
	}
}

static size_t feed_body(struct reader *reader, const char *data, size_t size)
{
	const char *why = NULL;
	int status = 0;
	size_t part;
	bool whole;

	if (reader->framing.chunked) {
		part = chunk_guard_take(&reader->chunk_guard, data, size, reader->body_limit,
					&status, &why);
		whole = reader->chunk_guard.place == CHUNK_GUARD_DONE;
	} else {
		part = reader_wants(reader, size);
		part = part < size ? part : size;
		whole = reader->body_came + part == reader->framing.length;
	}
	reader->body_came += part;
	if (!opinion_body(&reader->opinion, data, part)) {
		body_failed(reader);
	} else if (status) {
		refuse(reader, status, why);
	} else if (whole != reader->opinion.done) {
		body_failed(reader);
	} else if (whole) {
		reader->state = READER_DONE;
	}
	return part;
}

size_t reader_feed(struct reader *reader, const char *data, size_t size)
{
	size_t taken = 0;

	while (taken < size) {
		if (reader->state == READER_HEAD) {
			taken += feed_head(reader, data + taken, size - taken);
		} else if (reader->state == READER_BODY) {
			taken += feed_body(reader, data + taken, size - taken);
		} else {
			break;
		}
	}
	return taken;
}

void reader_go_on(struct reader *reader, size_t limit)
{
	reader->body_limit = limit;
	if (!framing_has_body(&reader->framing)) {
		reader->state = READER_DONE;
	} else if (reader->framing.length > limit) {
		refuse(reader, 413, "the body is too large");
	} else {
		reader->opinion.expected =
			reader->framing.chunked ? limit : (size_t)reader->framing.length;
		reader->state = READER_BODY;
	}
}

size_t reader_wants(const struct reader *reader, size_t most)
{
	if (reader->state != READER_BODY || reader->framing.chunked) {
		return most;
	}
	uint64_t left = reader->framing.length - reader->body_came;
	return left < most ? (size_t)left : most;
}
