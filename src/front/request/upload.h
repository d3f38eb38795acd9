/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A long body on its way in: JSON is read as it comes, and what is long in it goes to a memory
 * file; so do bytes. Nothing of it is on the heap but what jansson makes of the rest.
 */
#ifndef BRIG_FRONT_REQUEST_UPLOAD_H
#define BRIG_FRONT_REQUEST_UPLOAD_H

#include "base/sha256.h"
#include "front/request/fields.h"
#include "http/http.h"

/* What a body is, so that it is known which of its strings may stay where they are. */
enum upload_form {
	UPLOAD_NONE, /* nothing long is taken */
	UPLOAD_RUN,
	UPLOAD_QUEUED, /* the same; the text itself is wanted too, for the ledger */
	UPLOAD_LEGACY,
	UPLOAD_MCP,
	UPLOAD_BYTES,
};

/* NULL: none is wanted, or no memory. `hashed`: upload_digest() will be asked for. */
struct http_sink *upload_new(enum upload_form form, bool hashed);
/* Does the sink have the body? */
bool upload_has(const struct http_exchange *exchange);
/* What was read, once. `why` tells why there is none. */
struct document upload_read(struct http_exchange *exchange, struct json_refusal *why);
/*
 * The body itself, of a form that wants it, once; the caller's. `ended`: with a NUL behind it, as
 * all that is shared with the warden has. NULL: no memory.
 */
struct block *upload_text(struct http_exchange *exchange, bool ended);
/* Its hash, once. */
void upload_digest(struct http_exchange *exchange, char hex[SHA256_HEX_SIZE]);

/* The body of a request, which must be an object. */
int body_read(struct http_exchange *exchange, struct document *ret, struct problem *problem);
/* The same for a text from elsewhere. */
int text_read(const char *text, size_t size, struct document *ret, struct problem *problem);
#endif
