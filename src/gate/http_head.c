/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP heads: see http_head.h. Stricter than RFC 9112: what servers disagree on is refused. */
#include "gate/http_head.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

struct text {
	const char *at;
	size_t size;
};

struct head {
	const struct http_expect *expect;
	struct buf *out;
	bool old; /* HTTP/1.0 */
	unsigned hosts, lengths, encodings;
	uint64_t length;
	int why; /* 0, or what is wrong */
};

static bool is(const struct text *text, const char *word)
{
	return text->size == strlen(word) && strncasecmp(text->at, word, text->size) == 0;
}

static bool is_token(const struct text *text)
{
	for (size_t i = 0; i < text->size; i++) {
		char c = text->at[i];
		bool alnum =
			(c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
		if (!alnum && (c == '\0' || !strchr("!#$%&'*+-.^_`|~", c))) {
			return false;
		}
	}
	return text->size > 0;
}

/* No control characters: not even the tab that could hide a blank. */
static bool is_plain(const struct text *text, bool blanks)
{
	for (size_t i = 0; i < text->size; i++) {
		unsigned char c = (unsigned char)text->at[i];
		if (c < ' ' || c == 0x7f || (c == ' ' && !blanks)) {
			return false;
		}
	}
	return true;
}

static bool read_number(const struct text *text, uint64_t most, uint64_t *ret)
{
	uint64_t value = 0;

	for (size_t i = 0; i < text->size; i++) {
		char c = text->at[i];
		if (c < '0' || c > '9' || value > most / 10) {
			return false;
		}
		value = value * 10 + (uint64_t)(c - '0');
	}
	*ret = value;
	return text->size > 0 && value <= most;
}

/* "example.org" or "example.org:80". */
static bool is_host(const struct http_expect *expect, const struct text *text)
{
	char name[NET_NAME_MAX + 1];
	const char *colon = memchr(text->at, ':', text->size);
	size_t length = colon ? (size_t)(colon - text->at) : text->size;

	if (colon) {
		struct text port = { colon + 1, text->size - length - 1 };
		uint64_t number;
		if (!read_number(&port, 65535, &number) || number != expect->port) {
			return false;
		}
	}
	return net_name_normal(text->at, length, name) && strcmp(name, expect->name) == 0;
}

static struct text until(struct text *from, char mark)
{
	const char *end = memchr(from->at, mark, from->size);
	struct text word = { from->at, end ? (size_t)(end - from->at) : from->size };

	from->at += word.size + (end ? 1 : 0);
	from->size -= word.size + (end ? 1u : 0u);
	return word;
}

/* Only the path goes on: "http://example.org/x" is for a proxy, which the host is not. */
static int read_target(struct head *head, struct text target, struct text *path)
{
	const char *scheme = head->expect->scheme;
	size_t length = strlen(scheme);

	*path = target;
	if (target.size == 0 || !is_plain(&target, false)) {
		return -EBADMSG;
	}
	if (target.at[0] == '/' || is(&target, "*")) {
		return 0;
	}
	if (target.size < length || strncasecmp(target.at, scheme, length) != 0) {
		return -EBADMSG;
	}
	struct text authority = { target.at + length, target.size - length };
	const char *slash = memchr(authority.at, '/', authority.size);
	*path = slash ? (struct text){ slash, (size_t)(target.at + target.size - slash) }
		      : (struct text){ "/", 1 };
	authority.size = slash ? (size_t)(slash - authority.at) : authority.size;
	return is_host(head->expect, &authority) ? 0 : -EPERM;
}

/* For a proxy, which the host is not; or answered with the request, credentials and all. */
static bool is_refused(const struct text *method)
{
	static const char *const refused[] = { "CONNECT", "TRACE", "TRACK" };

	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		if (is(method, refused[i])) {
			return true;
		}
	}
	return false;
}

static int read_request_line(struct head *head, struct text line)
{
	struct text method = until(&line, ' ');
	struct text target = until(&line, ' ');
	struct text path;

	head->old = is(&line, "HTTP/1.0");
	if (!is_token(&method) || is_refused(&method) || (!is(&line, "HTTP/1.1") && !head->old)) {
		return -EBADMSG;
	}
	int r = read_target(head, target, &path);
	if (r < 0) {
		return r;
	}
	buf_add(head->out, method.at, method.size);
	buf_addc(head->out, ' ');
	buf_add(head->out, path.at, path.size);
	buf_adds(head->out, head->old ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n");
	return 0;
}

static bool is_replaced(const struct head *head, const struct text *name)
{
	for (size_t i = 0; i < head->expect->extras_count; i++) {
		if (is(name, head->expect->extras[i].header)) {
			return true;
		}
	}
	/* What is about this connection ends here. */
	return is(name, "Connection") || is(name, "Keep-Alive") || is(name, "Proxy-Connection") ||
	       is(name, "Proxy-Authorization") || is(name, "Upgrade");
}

/* In its one spelling: to the server another one may be another site, or its first. */
static void add_host(struct head *head, bool with_port)
{
	buf_addf(head->out, "Host: %s", head->expect->name);
	if (with_port) {
		buf_addf(head->out, ":%u", (unsigned)head->expect->port);
	}
	buf_adds(head->out, "\r\n");
}

static int read_field(struct head *head, struct text line)
{
	struct text value = line;
	struct text name = until(&value, ':');

	if (name.size + 1 > line.size || !is_token(&name)) {
		return -EBADMSG; /* also a line that goes on from the one before */
	}
	while (value.size && (*value.at == ' ' || *value.at == '\t')) {
		value.at++;
		value.size--;
	}
	while (value.size &&
	       (value.at[value.size - 1] == ' ' || value.at[value.size - 1] == '\t')) {
		value.size--;
	}
	if (!is_plain(&value, true)) {
		return -EBADMSG;
	}
	if (is(&name, "Host")) {
		if (head->hosts++ || !is_host(head->expect, &value)) {
			return head->hosts > 1 ? -EBADMSG : -EPERM;
		}
		if (!is_replaced(head, &name)) {
			add_host(head, memchr(value.at, ':', value.size) != NULL);
		}
		return 0;
	}
	if (is(&name, "Content-Length") &&
	    (head->lengths++ || !read_number(&value, INT64_MAX, &head->length))) {
		return -EBADMSG;
	}
	if (is(&name, "Transfer-Encoding") && (head->encodings++ || !is(&value, "chunked"))) {
		return -EBADMSG;
	}
	if (!is_replaced(head, &name)) {
		buf_add(head->out, name.at, name.size);
		buf_adds(head->out, ": ");
		buf_add(head->out, value.at, value.size);
		buf_adds(head->out, "\r\n");
	}
	return 0;
}

static int finish(struct head *head, struct http_head *ret)
{
	/* Two lengths are two requests, to whoever believes the other one; 1.0 has no chunks. */
	if (head->hosts != 1 || (head->encodings && (head->lengths || head->old))) {
		return -EBADMSG;
	}
	for (size_t i = 0; i < head->expect->extras_count; i++) {
		buf_addf(head->out, "%s: %s\r\n", head->expect->extras[i].header,
			 head->expect->extras[i].value);
	}
	buf_adds(head->out, "Connection: close\r\n\r\n");
	ret->body = head->length;
	ret->chunked = head->encodings > 0;
	return head->out->failed ? -ENOMEM : 0;
}

int http_head_rewrite(const char *data, size_t size, const struct http_expect *expect,
		      struct http_head *ret, struct buf *out)
{
	const char *end = memmem(data, size < HTTP_HEAD_MAX ? size : HTTP_HEAD_MAX, "\r\n\r\n", 4);
	struct head head = { .expect = expect, .out = out };

	if (!end) {
		/* What does not begin like a request never becomes one. */
		struct text first = { data, size < 8 ? size : 8 };
		struct text method = until(&first, ' ');
		return size >= HTTP_HEAD_MAX || (size && !is_token(&method)) ? -EBADMSG : -EAGAIN;
	}
	struct text rest = { data, (size_t)(end - data) + 2 };
	ret->size = rest.size + 2;
	for (bool first = true; rest.size; first = false) {
		struct text line = until(&rest, '\n');
		if (line.size == 0 || line.at[--line.size] != '\r') {
			return -EBADMSG;
		}
		int r = first ? read_request_line(&head, line) : read_field(&head, line);
		if (r < 0) {
			return r;
		}
	}
	return finish(&head, ret);
}
