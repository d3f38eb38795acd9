/* SPDX-License-Identifier: Apache-2.0 */
/* Long strings of a document: on their way to a memory file, and in it. Private to json_stream. */
#ifndef BRIG_BASE_JSON_JSON_LONGS_H
#define BRIG_BASE_JSON_JSON_LONGS_H

#include <stdint.h>

#include "base/base64.h"
#include "base/json/json_stream.h"
#include "base/sha256.h"
#include "base/spool.h"

/*
 * In place of such a string: this character and a number. Strings that begin with it are taken out
 * too, however short, so that nobody can write a mark.
 */
#define JSON_MARK      '\1'
#define JSON_MARK_TEXT "\\u0001"

struct json_long {
	size_t at, size; /* in the file */
	/*
	 * Of these the first are bytes that were base64, exactly; what follows is text. All: it
	 * was base64. None: it was not tried, or the first letters were none.
	 */
	size_t decoded;
	bool wrong;         /* it was taken for base64, and is not */
	char *sha256;       /* owned: in hex; NULL: it was not wanted */
	const json_t *node; /* that stands for it in the document; NULL: it was put back */
};

struct json_longs {
	unsigned refs;
	struct json_long *items; /* owned */
	size_t count, room;
	struct block *block; /* a reference; NULL: nothing was long */
};

/* One string on its way. */
struct json_long_writer {
	struct spool spool; /* of all */
	struct json_longs *longs;
	bool base64; /* is tried */
	bool hashed;
	struct sha256 hash;
	struct base64_stream letters;
	char carry[12]; /* a character that is not whole */
	size_t carried;
};

/* False: no memory. Its number is the count before. */
bool json_long_begin(struct json_long_writer *writer, bool base64, bool hashed);
/* Text as it stands between the quotes. False: part->code and part->why. */
bool json_long_take(struct json_long_writer *writer, const char *text, size_t size, bool final,
		    bool allow_nul, struct json_part *part);
/*
 * Puts the strings of a document in place of their marks, but for those that may stay in the file,
 * which know their marks from then on. 0, -ENOMEM, or -E2BIG: those would be too many bytes.
 */
int json_longs_put_back(struct json_longs *longs, const struct json_stream_options *options,
			json_t *root);
/* The string as it was. NULL: no memory. */
json_t *json_long_string(const struct json_longs *longs, const struct json_long *item);
#endif
