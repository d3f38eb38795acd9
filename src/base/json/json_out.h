/* SPDX-License-Identifier: Apache-2.0 */
/* Writes JSON into a buf, with correct commas and escapes. Output is pure ASCII-safe UTF-8. */
#ifndef BRIG_BASE_JSON_JSON_OUT_H
#define BRIG_BASE_JSON_JSON_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes/buf.h"
#include "base/strlist.h"

struct json_out {
	struct buf *buf;
	bool comma; /* the next item needs one */
};

/* `key` is NULL inside arrays and at the top. */
void json_open(struct json_out *out, const char *key, char bracket); /* '{' or '[' */
void json_close(struct json_out *out, char bracket);                 /* '}' or ']' */
void json_text(struct json_out *out, const char *key,
	       const char *text); /* NULL gives null; invalid UTF-8 becomes U+FFFD */
void json_textn(struct json_out *out, const char *key, const char *text, size_t size);
/*
 * A long string in parts: open, any number of texts (of whole characters) or of bytes in base64 (in
 * multiples of three, except the last), close.
 */
void json_part_open(struct json_out *out, const char *key);
void json_part_text(struct json_out *out, const char *text, size_t size);
void json_part_base64(struct json_out *out, const void *data, size_t size);
void json_part_close(struct json_out *out);
void json_base64(struct json_out *out, const char *key, const void *data, size_t size);
void json_u64(struct json_out *out, const char *key, uint64_t value);
void json_int(struct json_out *out, const char *key, int64_t value);
void json_ms(struct json_out *out, const char *key,
	     uint64_t ns); /* milliseconds with up to 3 decimals */
void json_bool(struct json_out *out, const char *key, bool value);
void json_nil(struct json_out *out, const char *key); /* not json_null: that is jansson's */
void json_raw(struct json_out *out, const char *key, const char *json); /* finished JSON, trusted */
void json_list(struct json_out *out, const char *key, const struct strlist *list); /* of texts */

/* Measures the size of a text between its quotes, in slices. Zero-initialise it, except `room`. */
struct json_measure {
	size_t at, cost;
	size_t room, fits; /* the part of the text whose size is at most `room` */
	bool invalid;      /* it is not UTF-8 */
};

/* Continues by about `more` bytes; true: done. */
bool json_measure(struct json_measure *measure, const char *text, size_t size, size_t more);

bool utf8_valid(const char *data, size_t size);

/*
 * Valid JSON from an untrusted source: characters that could have an effect on a terminal are
 * escaped, as in this file.
 */
void json_add_harmless(struct buf *buf, const char *json, size_t size);
#endif
