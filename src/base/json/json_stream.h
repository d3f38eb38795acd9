/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON from a source that may be hostile, read as it arrives: json_bounded.h for texts that are too
 * long to keep. The cost of each part is proportional to its bytes, so that a long text does not
 * block other work.
 *
 * Long strings are written to a memory file as they arrive, decoded; jansson parses the rest, with
 * a mark in place of each. At the end they are put back, except in places where the reader of the
 * document reads them from the memory file. If they are base64, the file has the decoded bytes.
 */
#ifndef BRIG_BASE_JSON_JSON_STREAM_H
#define BRIG_BASE_JSON_JSON_STREAM_H

#include "base/bytes/block.h"
#include "base/json/json_bounded.h"

/* A place whose string may stay in the memory file. */
struct json_place {
	const char *path; /* "files.content": keys, ignoring arrays between them; "*" is any */
	bool base64;      /* the string is base64 */
	bool hashed;      /* its SHA-256 is computed: json_longs_sha256() */
};

#define JSON_STREAM_DEPTH_MAX 64

struct json_stream_options {
	struct json_bounds bounds; /* depth: JSON_STREAM_DEPTH_MAX at most */
	const struct json_place *places;
	size_t places_count;
	size_t back_max; /* bytes of long strings in other places, which are put back; 0: any */
};

/* The strings that stay in the memory file. Reference-counted. */
struct json_longs;
struct json_longs *json_longs_ref(struct json_longs *longs); /* NULL is fine */
void json_longs_unref(struct json_longs *longs);
/* The memory file; NULL: there is none. It lives as long as there are references. */
struct block *json_longs_block(const struct json_longs *longs);
/* Is it one of them? The (decoded) text is followed by a NUL. */
bool json_longs_find(const struct json_longs *longs, const json_t *value, const char **ret,
		     size_t *ret_size);

/* The SHA-256 of one of them, in hex, if its place requests it; NULL: unknown. */
const char *json_longs_sha256(const struct json_longs *longs, const json_t *value);

struct json_stream;
/* The caller owns the options. NULL: no memory. */
struct json_stream *json_stream_new(const struct json_stream_options *options);
/* Errors are reported at the end; after one, nothing is kept. */
void json_stream_take(struct json_stream *stream, const char *text, size_t size);
/* Bytes that it keeps. */
size_t json_stream_held(const struct json_stream *stream);
/* Any array or object, without duplicate keys. NULL: the reason is in `why`. Call it once. */
json_t *json_stream_end(struct json_stream *stream, struct json_longs **ret,
			struct json_refusal *why);
void json_stream_free(struct json_stream *stream);
#endif
