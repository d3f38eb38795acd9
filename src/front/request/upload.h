/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives a long body: JSON is parsed while it arrives, and its long strings go to a memory file;
 * so do plain bytes. Only the parsed rest is on the heap.
 */
#ifndef BRIG_FRONT_REQUEST_UPLOAD_H
#define BRIG_FRONT_REQUEST_UPLOAD_H

#include "base/bytes/sha256.h"
#include "front/request/json_fields.h"
#include "http/http.h"

/* The kind of a body, which determines which of its strings may stay in the memory file. */
enum upload_form {
	UPLOAD_NONE, /* no long body is accepted */
	UPLOAD_RUN,
	UPLOAD_QUEUED, /* the same; the text itself is kept too, for the ledger */
	UPLOAD_LEGACY,
	UPLOAD_MCP,
	UPLOAD_BYTES,
};

/* NULL: not needed, or no memory. `hashed`: upload_digest() will be called. */
struct http_sink *upload_new(enum upload_form form, bool hashed);
/* Does the sink have the body? */
bool upload_has(const struct http_exchange *exchange);
/* The parsed body, once. If there is none `why` has the reason. */
struct document upload_read(struct http_exchange *exchange, struct json_refusal *why);
/*
 * The body itself, once, for a form that keeps it; owned by the caller. `ended`: NUL-terminated, as
 * everything that is shared with the warden. NULL: no memory.
 */
struct block *upload_text(struct http_exchange *exchange, bool ended);
/* Its hash, once. */
void upload_digest(struct http_exchange *exchange, char hex[SHA256_HEX_SIZE]);

/* The body of a request, which must be an object. */
int body_read(struct http_exchange *exchange, struct document *ret, struct problem *problem);
/* The same for a text from elsewhere. */
int text_read(const char *text, size_t size, struct document *ret, struct problem *problem);
#endif
