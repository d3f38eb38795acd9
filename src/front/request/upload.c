/* SPDX-License-Identifier: Apache-2.0 */
/* Receiving long bodies: see upload.h. */
#include "front/request/upload.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/files/spool.h"
#include "mcp/mcp_limits.h"

/* The long strings of a run, at any level. */
#define RUN(at)                                                                                    \
	{ at "code", false, true }, { at "stdin", false, false },                                  \
		{ at "stdin_base64", true, false }, { at "files.content", false, false },          \
	{                                                                                          \
		at "files.content_base64", true, false                                             \
	}

static const struct json_place run_places[] = { RUN(""), RUN("programs."), RUN("inputs.") };
static const struct json_place legacy_places[] = {
	{ "code", false, true },
	{ "input_data", false, false },
	{ "files.*", false, false },
	{ "files.*.content", false, false },
	{ "files.*.content_base64", true, false },
};

#define FIELDS_BOUNDS                                                                              \
	{                                                                                          \
		.depth = FIELDS_DEPTH_MAX, .values = FIELDS_ITEMS_MAX,                             \
		.plain_max = FIELDS_PLAIN_MAX                                                      \
	}

static const struct form {
	bool json, text; /* it is parsed while it arrives; it is kept unchanged */
	struct json_stream_options options;
} forms[] = {
	[UPLOAD_RUN] = { true,
			 false,
			 { FIELDS_BOUNDS, run_places, ARRAY_SIZE(run_places), FIELDS_PLAIN_MAX } },
	[UPLOAD_QUEUED] = { true,
			    true,
			    { FIELDS_BOUNDS, run_places, ARRAY_SIZE(run_places),
			      FIELDS_PLAIN_MAX } },
	[UPLOAD_LEGACY] = { true,
			    false,
			    { FIELDS_BOUNDS, legacy_places, ARRAY_SIZE(legacy_places),
			      FIELDS_PLAIN_MAX } },
	[UPLOAD_MCP] = { true,
			 false,
			 { { .depth = MCP_DEPTH_MAX,
			     .values = MCP_VALUES_MAX,
			     .plain_max = FIELDS_PLAIN_MAX },
			   NULL, /* its arguments are hashed unchanged: all strings are put back */
			   0,
			   0 } },
	[UPLOAD_BYTES] = { false, true, { { 0 }, NULL, 0, 0 } },
};

struct upload {
	struct http_sink sink;
	struct json_stream *json; /* owned; NULL: it is not parsed */
	bool kept, hashed, used;
	struct spool text;
	struct sha256 hash;
};

static struct upload *upload_of(const struct http_exchange *exchange)
{
	return (struct upload *)(void *)exchange->sink;
}

static int take(struct http_sink *sink, const char *data, size_t size)
{
	struct upload *upload = (struct upload *)(void *)sink;

	upload->used = true;
	if (upload->hashed) {
		sha256_add(&upload->hash, data, size);
	}
	if (upload->kept) {
		spool_add(&upload->text, data, size);
	}
	if (upload->json) {
		json_stream_take(upload->json, data, size);
	}
	return upload->text.error;
}

static size_t held(const struct http_sink *sink)
{
	const struct upload *upload = (const struct upload *)(const void *)sink;

	return upload->text.size + (upload->json ? json_stream_held(upload->json) : 0);
}

static void upload_free(struct http_sink *sink)
{
	struct upload *upload = (struct upload *)(void *)sink;

	json_stream_free(upload->json);
	spool_done(&upload->text);
	free(upload);
}

struct http_sink *upload_new(enum upload_form form, bool hashed)
{
	static const struct http_sink class = { .take = take, .held = held, .free = upload_free };
	const struct form *what = &forms[form];
	struct upload *upload = form == UPLOAD_NONE ? NULL : calloc(1, sizeof(*upload));

	if (!upload) {
		return NULL;
	}
	upload->sink = class;
	upload->kept = what->text;
	upload->hashed = hashed;
	upload->json = what->json ? json_stream_new(&what->options) : NULL;
	sha256_init(&upload->hash);
	if (what->json && !upload->json) {
		upload_free(&upload->sink);
		return NULL;
	}
	return &upload->sink;
}

bool upload_has(const struct http_exchange *exchange)
{
	return exchange->sink && upload_of(exchange)->used;
}

struct document upload_read(struct http_exchange *exchange, struct json_refusal *why)
{
	struct document read = { 0 };

	read.root = json_stream_end(upload_of(exchange)->json, &read.longs, why);
	return read;
}

struct block *upload_text(struct http_exchange *exchange, bool ended)
{
	struct spool *text = &upload_of(exchange)->text;
	struct block *block = NULL;

	spool_add(text, "", ended);
	return spool_end(text, &block) < 0 ? NULL : block;
}

void upload_digest(struct http_exchange *exchange, char hex[SHA256_HEX_SIZE])
{
	sha256_hex(&upload_of(exchange)->hash, hex);
}

int body_read(struct http_exchange *exchange, struct document *ret, struct problem *problem)
{
	struct json_refusal why = { 0 };

	if (!upload_has(exchange)) {
		return fields_parse(exchange->body, exchange->body_size, ret, problem);
	}
	struct document read = upload_read(exchange, &why);
	return fields_document(&read, &why, ret, problem);
}

int text_read(const char *text, size_t size, struct document *ret, struct problem *problem)
{
	struct json_refusal why = { 0 };
	struct document read = { 0 };

	if (size <= HTTP_BODY_HELD_MAX) {
		return fields_parse(text, size, ret, problem);
	}
	struct json_stream *stream = json_stream_new(&forms[UPLOAD_RUN].options);
	if (!stream) {
		return problem_set(problem, PROBLEM_MEMORY_LOW, "no memory for the request");
	}
	json_stream_take(stream, text, size);
	read.root = json_stream_end(stream, &read.longs, &why);
	json_stream_free(stream);
	return fields_document(&read, &why, ret, problem);
}
