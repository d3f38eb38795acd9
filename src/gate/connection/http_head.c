/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP heads: see http_head.h. */
#include "gate/connection/http_head.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

const struct http1_rules http_head_rules = {
	.kind = HTTP1_REQUEST,
	.head_bytes = HTTP_HEAD_MAX,
	.fields = UINT_MAX,
	.raw_target = true,
};

struct request_head {
	const struct http_expect *expect;
	const struct http1_reader *reader;
	struct buf *out;
	bool has_host;
};

static bool read_port(const struct http1_text *text, uint16_t *ret)
{
	unsigned value = 0;

	for (size_t i = 0; i < text->size; i++) {
		if (text->at[i] < '0' || text->at[i] > '9' || value > UINT16_MAX) {
			return false;
		}
		value = value * 10 + (unsigned)(text->at[i] - '0');
	}
	*ret = (uint16_t)value;
	return text->size > 0 && value <= UINT16_MAX;
}

/* "example.org" or "example.org:80". */
static bool is_host(const struct http_expect *expect, const struct http1_text *text)
{
	char name[NET_NAME_MAX + 1];
	const char *colon = memchr(text->at, ':', text->size);
	size_t length = colon ? (size_t)(colon - text->at) : text->size;

	if (colon) {
		struct http1_text digits = { colon + 1, text->size - length - 1 };
		uint16_t port;
		if (!read_port(&digits, &port) || port != expect->port) {
			return false;
		}
	}
	return net_name_normal(text->at, length, name) && strcmp(name, expect->name) == 0;
}

/* Only the path is sent on: "http://example.org/x" is for a proxy, and the host is none. */
static int read_target(const struct http_expect *expect, struct http1_text target,
		       struct http1_text *path)
{
	const char *scheme = expect->scheme;
	size_t length = strlen(scheme);

	*path = target;
	if (target.at[0] == '/' || http1_text_is(&target, "*")) {
		return 0;
	}
	if (target.size < length || strncasecmp(target.at, scheme, length) != 0) {
		return -EBADMSG;
	}
	struct http1_text authority = { target.at + length, target.size - length };
	const char *slash = memchr(authority.at, '/', authority.size);
	*path = slash ? (struct http1_text){ slash, (size_t)(target.at + target.size - slash) }
		      : (struct http1_text){ "/", 1 };
	authority.size = slash ? (size_t)(slash - authority.at) : authority.size;
	return is_host(expect, &authority) ? 0 : -EPERM;
}

/*
 * Methods for a proxy, which the host is not; or methods that return the request itself, with its
 * credentials.
 */
static bool is_refused(const struct http1_text *method)
{
	static const char *const refused[] = { "CONNECT", "TRACE", "TRACK" };

	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		if (http1_text_is(method, refused[i])) {
			return true;
		}
	}
	return false;
}

static int write_line(struct request_head *head, const char *data)
{
	const struct http1_line *line = &head->reader->line;
	struct http1_text method = { data, line->method_size };
	struct http1_text target = { data + line->target_at, line->target_size };
	struct http1_text path;

	if (is_refused(&method)) {
		return -EBADMSG;
	}
	int r = read_target(head->expect, target, &path);
	if (r < 0) {
		return r;
	}
	buf_add(head->out, method.at, method.size);
	buf_addc(head->out, ' ');
	buf_add(head->out, path.at, path.size);
	buf_addf(head->out, " HTTP/1.%u\r\n", line->minor);
	return 0;
}

static bool is_replaced(const struct request_head *head, const struct http1_text *name)
{
	/* Headers about this connection are not passed on. */
	static const char *const dropped[] = { "Connection", "Keep-Alive", "Proxy-Connection",
					       "Proxy-Authorization", "Upgrade" };

	for (size_t i = 0; i < head->expect->extras_count; i++) {
		if (http1_text_is(name, head->expect->extras[i].header)) {
			return true;
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(dropped); i++) {
		if (http1_text_is(name, dropped[i])) {
			return true;
		}
	}
	return false;
}

/*
 * In its normal form: a server may take another spelling for another site, or for its default one.
 */
static int write_host(struct request_head *head, const struct http1_text *value, bool replaced)
{
	head->has_host = true;
	if (!is_host(head->expect, value)) {
		return -EPERM;
	}
	if (replaced) {
		return 0;
	}
	buf_addf(head->out, "Host: %s", head->expect->name);
	if (memchr(value->at, ':', value->size)) {
		buf_addf(head->out, ":%u", (unsigned)head->expect->port);
	}
	buf_adds(head->out, "\r\n");
	return 0;
}

static int write_field(struct request_head *head, const struct http1_field *field)
{
	bool replaced = is_replaced(head, &field->name);

	/* Not even a tab, which could hide a blank. */
	if (memchr(field->value.at, '\t', field->value.size)) {
		return -EBADMSG;
	}
	if (http1_text_is(&field->name, "Host")) {
		return write_host(head, &field->value, replaced);
	}
	if (!replaced) {
		buf_add(head->out, field->name.at, field->name.size);
		buf_adds(head->out, ": ");
		buf_add(head->out, field->value.at, field->value.size);
		buf_adds(head->out, "\r\n");
	}
	return 0;
}

static int write_fields(struct request_head *head, const char *data)
{
	struct http1_field field;
	size_t at = head->reader->fields_at;

	while (http1_next_field(data, &at, &field)) {
		int r = write_field(head, &field);
		if (r < 0) {
			return r;
		}
	}
	for (size_t i = 0; i < head->expect->extras_count; i++) {
		buf_addf(head->out, "%s: %s\r\n", head->expect->extras[i].header,
			 head->expect->extras[i].value);
	}
	buf_adds(head->out, "Connection: close\r\n\r\n");
	return head->has_host ? 0 : -EBADMSG;
}

/* 0: the head is complete. */
static int read_head(struct http1_reader *reader, const char *data, size_t size)
{
	struct http1_text input = { data + reader->head_size, size - reader->head_size }, none;
	enum http1_event event = HTTP1_LINE;

	while (event == HTTP1_LINE) {
		event = http1_read(reader, &input, &none);
	}
	if (event == HTTP1_MORE) {
		return size < HTTP_HEAD_MAX ? -EAGAIN : -EBADMSG;
	}
	return event == HTTP1_HEAD && http1_read_fields(reader, data) ? 0 : -EBADMSG;
}

int http_head_rewrite(struct http1_reader *reader, const char *data, size_t size,
		      const struct http_expect *expect, struct buf *out)
{
	struct request_head head = { .expect = expect, .reader = reader, .out = out };
	int r = read_head(reader, data, size);

	r = r < 0 ? r : write_line(&head, data);
	r = r < 0 ? r : write_fields(&head, data);
	if (r < 0) {
		return r;
	}
	return http1_begin_body(reader, UINT64_MAX) && !out->failed ? 0 : -ENOMEM;
}

long http_body_take(struct http1_reader *reader, const char *data, size_t size)
{
	struct http1_text input = { data, size }, piece;
	enum http1_event event = HTTP1_DATA;

	while (event == HTTP1_DATA) {
		event = http1_read(reader, &input, &piece);
	}
	return event == HTTP1_WRONG ? -EBADMSG : (long)(size - input.size);
}
