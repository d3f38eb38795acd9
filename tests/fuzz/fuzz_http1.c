/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader of HTTP/1 against llhttp, strict: a message that ours accepts is also one to llhttp,
 * ends at the same byte and means the same, except for the differences in `explained`. Messages
 * that ours refuses may be accepted by llhttp: ours is stricter. And the pieces in which a message
 * arrives change nothing.
 *
 * The first byte chooses the kind of message, the second how it is cut into pieces.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <llhttp.h>

#include "base/bytes/buf.h"
#include "base/cleanup.h"
#include "http1/characters.h"
#include "http1/http1.h"

#define SIZE_LIMIT 8192
#define BODY_LIMIT 4096

enum how {
	HOW_RESPONSE = 1,
	HOW_TO_HEAD = 2,
	HOW_EXTRA = 4,
	HOW_RAW_TARGET = 8,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition)
{
	if (!condition) {
		abort();
	}
}

/* The result of one of the two. The texts of both are made the same way. */
struct seen {
	bool complete, until_close;
	size_t size; /* of the message */
	unsigned minor, status;
	bool chunked, has_length, keep_alive;
	uint64_t length;
	struct buf method, target, fields, body;
	/* ours */
	enum http1_error error;
	size_t head_size;
	const char *text;
};

static void seen_done(struct seen *seen)
{
	buf_done(&seen->method);
	buf_done(&seen->target);
	buf_done(&seen->fields);
	buf_done(&seen->body);
}

/* --- ours ------------------------------------------------------------------------------------ */

static void note_head(struct seen *seen, const struct http1_reader *reader, const char *head)
{
	const struct http1_line *line = &reader->line;
	struct http1_field field;
	size_t at = reader->fields_at;
	unsigned count = 0;

	seen->minor = line->minor;
	seen->status = line->status;
	buf_add(&seen->method, head, line->method_size);
	buf_add(&seen->target, head + line->target_at, line->target_size);
	while (http1_next_field(head, &at, &field)) {
		buf_add(&seen->fields, field.name.at, field.name.size);
		buf_adds(&seen->fields, ":");
		buf_add(&seen->fields, field.value.at, field.value.size);
		buf_adds(&seen->fields, "\n");
		count++;
	}
	require(at + 2 == reader->head_size && count == reader->fields);
}

static void note_framing(struct seen *seen, const struct http1_reader *reader)
{
	seen->chunked = reader->framing.chunked;
	seen->has_length = reader->framing.has_length;
	seen->length = reader->framing.length;
	seen->keep_alive = reader->framing.keep_alive;
	seen->until_close = http1_is_until_close(reader);
}

static void read_head(struct seen *seen, struct http1_reader *reader, const struct buf *head)
{
	/* A copy that ends where the head ends, so that a read beyond it is detected. */
	char *copy = malloc(reader->head_size);

	require(copy && head->size == reader->head_size);
	memcpy(copy, head->data, head->size);
	if (http1_read_fields(reader, copy)) {
		note_head(seen, reader, copy);
		note_framing(seen, reader);
		http1_begin_body(reader, BODY_LIMIT);
	}
	free(copy);
}

static size_t piece_size(unsigned char cut, size_t at, size_t size)
{
	size_t most = cut == 0 ? size : 1 + (cut * 31u + at * 7u) % cut;

	return most < size - at ? most : size - at;
}

/* One piece; false: nothing more is accepted. */
static bool take_piece(struct seen *seen, struct http1_reader *reader, struct buf *head,
		       struct http1_text *input)
{
	for (;;) {
		const char *before = input->at;
		bool in_head = reader->state < HTTP1_HEAD_DONE;
		struct http1_text data = { 0 };
		enum http1_event event = http1_read(reader, input, &data);

		seen->size += (size_t)(input->at - before);
		if (in_head) {
			buf_add(head, before, (size_t)(input->at - before));
		}
		switch (event) {
		case HTTP1_MORE:
			require(input->size == 0);
			return true;
		case HTTP1_LINE:
			require(head->size == reader->fields_at);
			break;
		case HTTP1_HEAD:
			read_head(seen, reader, head);
			break;
		case HTTP1_DATA:
			require(data.size > 0 && data.at + data.size == input->at);
			buf_add(&seen->body, data.at, data.size);
			break;
		case HTTP1_END:
		case HTTP1_WRONG:
			return false;
		}
	}
}

static void read_ours(struct seen *seen, const struct http1_rules *rules, bool to_head,
		      const char *data, size_t size, unsigned char cut)
{
	struct http1_reader reader;
	struct buf head = { 0 };
	bool more = true;

	http1_init(&reader, rules);
	reader.answers_head = to_head;
	for (size_t at = 0; more && at < size;) {
		size_t part = piece_size(cut, at, size);
		char *piece = malloc(part);
		require(piece != NULL);
		memcpy(piece, data + at, part);
		struct http1_text input = { piece, part };
		more = take_piece(seen, &reader, &head, &input);
		free(piece);
		at += part;
	}
	seen->complete = http1_close(&reader) == HTTP1_END;
	seen->error = reader.error;
	seen->head_size = reader.head_size;
	seen->text = data;
	require(seen->complete || reader.error != HTTP1_FINE);
	require(reader.head_size <= rules->head_bytes && reader.extra_size <= rules->extra_bytes);
	require(seen->body.size <= BODY_LIMIT);
	buf_done(&head);
}

/* --- llhttp ---------------------------------------------------------------------------------- */

struct oracle {
	struct seen *seen;
	bool to_head, head_done, done;
	struct buf name, value;
};

static struct oracle *oracle_of(llhttp_t *parser)
{
	return parser->data;
}

static int on_method(llhttp_t *parser, const char *at, size_t size)
{
	buf_add(&oracle_of(parser)->seen->method, at, size);
	return 0;
}

static int on_target(llhttp_t *parser, const char *at, size_t size)
{
	buf_add(&oracle_of(parser)->seen->target, at, size);
	return 0;
}

static int on_name(llhttp_t *parser, const char *at, size_t size)
{
	buf_add(&oracle_of(parser)->name, at, size);
	return 0;
}

static int on_value(llhttp_t *parser, const char *at, size_t size)
{
	buf_add(&oracle_of(parser)->value, at, size);
	return 0;
}

/* llhttp keeps the blanks behind a value. */
static int on_field(llhttp_t *parser)
{
	struct oracle *oracle = oracle_of(parser);
	struct buf *fields = &oracle->seen->fields;
	size_t size = oracle->value.size;

	while (size && character_is_space((unsigned char)oracle->value.data[size - 1])) {
		size--;
	}
	if (!oracle->head_done) {
		buf_add(fields, oracle->name.data, oracle->name.size);
		buf_adds(fields, ":");
		buf_add(fields, oracle->value.data, size);
		buf_adds(fields, "\n");
	}
	buf_done(&oracle->name);
	buf_done(&oracle->value);
	return 0;
}

static int on_head(llhttp_t *parser)
{
	struct oracle *oracle = oracle_of(parser);
	struct seen *seen = oracle->seen;

	oracle->head_done = true;
	seen->minor = parser->http_minor;
	seen->status = parser->status_code;
	seen->chunked = parser->flags & F_CHUNKED;
	seen->has_length = parser->flags & F_CONTENT_LENGTH;
	seen->length = seen->has_length ? parser->content_length : 0;
	parser->upgrade = 0; /* upgrades to other protocols are not accepted */
	return oracle->to_head ? 1 : 0;
}

static int on_body(llhttp_t *parser, const char *at, size_t size)
{
	buf_add(&oracle_of(parser)->seen->body, at, size);
	return 0;
}

static int on_end(llhttp_t *parser)
{
	require(!oracle_of(parser)->done);
	oracle_of(parser)->done = true;
	oracle_of(parser)->seen->keep_alive = llhttp_should_keep_alive(parser);
	return 0;
}

static const llhttp_settings_t settings = {
	.on_method = on_method,
	.on_url = on_target,
	.on_header_field = on_name,
	.on_header_value = on_value,
	.on_header_value_complete = on_field,
	.on_headers_complete = on_head,
	.on_body = on_body,
	.on_message_complete = on_end,
};

/* The bytes of our message: all but the last are no complete message. */
static void read_oracle(struct seen *seen, bool response, bool to_head, bool until_close,
			const char *data, size_t size)
{
	struct oracle oracle = { .seen = seen, .to_head = to_head };
	llhttp_t parser;

	llhttp_init(&parser, response ? HTTP_RESPONSE : HTTP_REQUEST, &settings);
	parser.data = &oracle;
	bool fine = llhttp_execute(&parser, data, size - 1) == HPE_OK && !oracle.done &&
		    llhttp_execute(&parser, data + size - 1, 1) == HPE_OK;
	if (fine && until_close) {
		fine = !oracle.done && llhttp_finish(&parser) == HPE_OK;
	}
	seen->complete = fine && oracle.done;
	seen->size = size;
	buf_done(&oracle.name);
	buf_done(&oracle.value);
}

/* --- the two --------------------------------------------------------------------------------- */

static bool equal(const struct buf *a, const struct buf *b)
{
	return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

static bool same(const struct seen *a, const struct seen *b)
{
	return a->complete == b->complete && a->size == b->size && a->minor == b->minor &&
	       a->status == b->status && a->chunked == b->chunked &&
	       a->has_length == b->has_length && a->length == b->length &&
	       a->keep_alive == b->keep_alive && equal(&a->method, &b->method) &&
	       equal(&a->target, &b->target) && equal(&a->fields, &b->fields) &&
	       equal(&a->body, &b->body);
}

static bool has_unknown_method(const struct seen *ours)
{
	static const char *const methods[] = {
#define METHOD(number, name, string) #string,
		HTTP_METHOD_MAP(METHOD)
#undef METHOD
	};

	for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
		if (ours->method.size == strlen(methods[i]) &&
		    memcmp(ours->method.data, methods[i], ours->method.size) == 0) {
			return false;
		}
	}
	return ours->method.size > 0;
}

static bool has_other_target(const struct seen *ours)
{
	for (size_t i = 0; i < ours->target.size; i++) {
		unsigned char c = (unsigned char)ours->target.data[i];
		if (!character_is_query(c) && c != '%') {
			return true;
		}
	}
	return ours->target.size > 0 && ours->target.data[0] != '/';
}

static bool is_not_modified(const struct seen *ours)
{
	return ours->status == 304 && (ours->has_length || ours->chunked);
}

static bool has_close_in_old(const struct seen *ours)
{
	return ours->minor == 0 && !ours->keep_alive;
}

/* Behind the head; that it may be in the data of a chunk does not matter here. */
static bool has_framing_trailer(const struct seen *ours)
{
	static const char *const names[] = { "Content-Length", "Transfer-Encoding", "Connection",
					     "Proxy-Connection", "Upgrade" };

	for (size_t at = ours->head_size; ours->chunked && at < ours->size; at++) {
		for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
			size_t size = strlen(names[i]);
			if (ours->size - at >= size &&
			    strncasecmp(ours->text + at, names[i], size) == 0) {
				return true;
			}
		}
	}
	return false;
}

static const struct {
	const char *why;
	bool (*holds)(const struct seen *ours);
} explained[] = {
	{ "llhttp knows the methods of a list; ours takes any token, and its users decide",
	  has_unknown_method },
	{ "llhttp looks at the form of a target; with ours that is for its users",
	  has_other_target },
	{ "llhttp reads the length of a 304 as that of a body; RFC 9112, 6.3: it has none",
	  is_not_modified },
	{ "llhttp keeps HTTP/1.0 alive with \"close, keep-alive\"; ours closes", has_close_in_old },
	{ "llhttp reads framing from trailers; ours drops them unread (RFC 9110, 6.5.1)",
	  has_framing_trailer },
};

static bool is_explained(const struct seen *ours)
{
	for (size_t i = 0; i < ARRAY_SIZE(explained); i++) {
		if (explained[i].holds(ours)) {
			return true;
		}
	}
	return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 3 || size > SIZE_LIMIT) {
		return 0;
	}
	bool response = data[0] & HOW_RESPONSE, to_head = response && data[0] & HOW_TO_HEAD;
	struct http1_rules rules = {
		.kind = response ? HTTP1_RESPONSE : HTTP1_REQUEST,
		.head_bytes = 2048,
		.fields = 20,
		.extra_bytes = data[0] & HOW_EXTRA ? 200 : 0,
		.raw_target = data[0] & HOW_RAW_TARGET,
	};
	const char *text = (const char *)data + 2;
	struct seen whole = { 0 }, pieces = { 0 }, oracle = { 0 };

	read_ours(&whole, &rules, to_head, text, size - 2, 0);
	read_ours(&pieces, &rules, to_head, text, size - 2, data[1]);
	require(same(&whole, &pieces) && whole.error == pieces.error);
	if (whole.complete && !is_explained(&whole)) {
		read_oracle(&oracle, response, to_head, whole.until_close, text, whole.size);
		require(same(&whole, &oracle));
	}
	seen_done(&whole);
	seen_done(&pieces);
	seen_done(&oracle);
	return 0;
}
