/* Writing JSON into a buf, with commas and escapes done right. Output is pure ASCII-safe UTF-8. */
#ifndef BRIG_BASE_JSON_OUT_H
#define BRIG_BASE_JSON_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
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
void json_base64(struct json_out *out, const char *key, const void *data, size_t size);
void json_u64(struct json_out *out, const char *key, uint64_t value);
void json_int(struct json_out *out, const char *key, int64_t value);
void json_ms(struct json_out *out, const char *key,
	     uint64_t ns); /* milliseconds with up to 3 decimals */
void json_bool(struct json_out *out, const char *key, bool value);
void json_nil(struct json_out *out, const char *key); /* not json_null: that is jansson's */
void json_raw(struct json_out *out, const char *key, const char *json); /* ready JSON, trusted */
void json_list(struct json_out *out, const char *key, const struct strlist *list); /* of texts */

bool utf8_valid(const char *data, size_t size);
#endif
