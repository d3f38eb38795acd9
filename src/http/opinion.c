/* llhttp's reading of a request: see opinion.h. */
#include "http/opinion.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <llhttp.h>

static int on_header(llhttp_t *parser)
{
	struct opinion *opinion = parser->data;

	opinion->headers++;
	return 0;
}

static int on_head(llhttp_t *parser)
{
	struct opinion *opinion = parser->data;

	opinion->head_done = true;
	opinion->chunked = parser->flags & F_CHUNKED;
	opinion->has_length = parser->flags & F_CONTENT_LENGTH;
	opinion->length = parser->content_length;
	/* Offers of other protocols are not taken up: it goes on as HTTP. */
	parser->upgrade = 0;
	return 0;
}

static int on_body(llhttp_t *parser, const char *data, size_t size)
{
	struct opinion *opinion = parser->data;

	opinion->body_error = body_add(opinion->body, data, size, opinion->expected);
	return opinion->body_error < 0 ? -1 : 0;
}

static int on_done(llhttp_t *parser)
{
	struct opinion *opinion = parser->data;

	/* A second message in bytes that are one: never. */
	if (opinion->done) {
		return -1;
	}
	opinion->done = true;
	return 0;
}

static int on_extension(llhttp_t *parser, const char *data, size_t size)
{
	(void)parser;
	(void)data;
	(void)size;
	return -1;
}

static const llhttp_settings_t settings = {
	.on_header_value_complete = on_header,
	.on_headers_complete = on_head,
	.on_body = on_body,
	.on_message_complete = on_done,
	.on_chunk_extension_name = on_extension,
	.on_chunk_extension_value = on_extension,
};

int opinion_init(struct opinion *opinion, struct body *body)
{
	*opinion = (struct opinion){ .body = body, .parser = malloc(sizeof(*opinion->parser)) };
	if (!opinion->parser) {
		return -ENOMEM;
	}
	llhttp_init(opinion->parser, HTTP_REQUEST, &settings);
	opinion->parser->data = opinion;
	return 0;
}

void opinion_done(struct opinion *opinion)
{
	free(opinion->parser);
	opinion->parser = NULL;
}

bool opinion_head(struct opinion *opinion, const char *head, size_t size)
{
	return llhttp_execute(opinion->parser, head, size) == HPE_OK && opinion->head_done;
}

bool opinion_agrees(const struct opinion *opinion, const struct request_line *line,
		    const struct framing *framing, unsigned headers)
{
	const llhttp_t *parser = opinion->parser;
	const char *method = llhttp_method_name((llhttp_method_t)parser->method);

	return strcmp(method, line->method) == 0 && parser->http_major == 1 &&
	       parser->http_minor == line->minor && opinion->headers == headers &&
	       opinion->chunked == framing->chunked && opinion->has_length == framing->has_length &&
	       opinion->length == framing->length && opinion->done == !framing_has_body(framing);
}

bool opinion_body(struct opinion *opinion, const char *data, size_t size)
{
	return llhttp_execute(opinion->parser, data, size) == HPE_OK;
}
