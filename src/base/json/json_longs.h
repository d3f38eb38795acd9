/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Long strings of a document: while they are written to a memory file, and in it. Private to
 * json_stream.
 */
#ifndef BRIG_BASE_JSON_JSON_LONGS_H
#define BRIG_BASE_JSON_JSON_LONGS_H

#include <stdint.h>

#include "base/bytes/base64.h"
#include "base/bytes/sha256.h"
#include "base/files/spool.h"
#include "base/json/json_stream.h"

/*
 * Replaces such a string: this character and a number. Strings that begin with it are extracted
 * too, however short, so that no input can contain a mark.
 */
#define JSON_MARK      '\1'
#define JSON_MARK_TEXT "\\u0001"

struct json_long {
	size_t at, size; /* in the file */
	/*
	 * The first bytes were exactly base64; the rest is text. All: it was base64. None: it was
	 * not tried, or the first letters were invalid.
	 */
	size_t decoded;
	bool wrong;         /* it was expected to be base64, and is not */
	char *sha256;       /* owned: in hex; NULL: not requested */
	const json_t *node; /* its node in the document; NULL: it was put back */
};

struct json_longs {
	unsigned refs;
	struct json_long *items; /* owned */
	size_t count, room;
	struct block *block; /* a reference; NULL: nothing was long */
};

/* A string that is being written. */
struct json_long_writer {
	struct spool spool; /* of all */
	struct json_longs *longs;
	bool base64; /* is tried */
	bool hashed;
	struct sha256 hash;
	struct base64_stream letters;
	char carry[12]; /* an incomplete character */
	size_t carried;
};

/* False: no memory. Its number is the count before. */
bool json_long_begin(struct json_long_writer *writer, bool base64, bool hashed);
/* Text between the quotes. False: part->code and part->why. */
bool json_long_take(struct json_long_writer *writer, const char *text, size_t size, bool final,
		    bool allow_nul, struct json_part *part);
/*
 * Replaces the marks of a document by their strings, except those that may stay in the file, whose
 * nodes are recorded. 0, -ENOMEM, or -E2BIG: too many bytes.
 */
int json_longs_put_back(struct json_longs *longs, const struct json_stream_options *options,
			json_t *root);
/* The original string. NULL: no memory. */
json_t *json_long_string(const struct json_longs *longs, const struct json_long *item);
#endif
