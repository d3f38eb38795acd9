/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON of somebody who may be hostile, read as it comes: json_bounded.h for texts that are too
 * long to be held. Each part costs what its bytes cost, so that nobody waits for a long text.
 *
 * Long strings go to a memory file as they come, decoded; jansson reads what is left, with a mark
 * in place of each. At the end they are put back, but for those in places where whoever reads the
 * document takes them from the memory file. Where bytes are written in base64, the file has the
 * bytes.
 */
#ifndef BRIG_BASE_JSON_JSON_STREAM_H
#define BRIG_BASE_JSON_JSON_STREAM_H

#include "base/block.h"
#include "base/json/json_bounded.h"

/* Where strings may stay in the memory file. */
struct json_place {
	const char *path; /* "files.content": keys, whatever arrays are between them; "*" is any */
	bool base64;      /* the string stands for bytes */
	bool hashed;      /* its SHA-256 is wanted: json_longs_sha256() */
};

#define JSON_STREAM_DEPTH_MAX 64

struct json_stream_options {
	struct json_bounds bounds; /* depth: JSON_STREAM_DEPTH_MAX at most */
	const struct json_place *places;
	size_t places_count;
	size_t back_max; /* bytes of long strings in other places, which are put back; 0: any */
};

/* The strings that stay in the memory file. Counted: who keeps it has a reference. */
struct json_longs;
struct json_longs *json_longs_ref(struct json_longs *longs); /* NULL is fine */
void json_longs_unref(struct json_longs *longs);
/* The memory file; NULL: there is none. It stays as long as there are references. */
struct block *json_longs_block(const struct json_longs *longs);
/* Is it one of them? A NUL follows what it is, or stands for. */
bool json_longs_find(const struct json_longs *longs, const json_t *value, const char **ret,
		     size_t *ret_size);

/* The SHA-256 of one of them, in hex, if its place wants it; NULL: it is not known. */
const char *json_longs_sha256(const struct json_longs *longs, const json_t *value);

struct json_stream;
/* The options stay the caller's. NULL: no memory. */
struct json_stream *json_stream_new(const struct json_stream_options *options);
/* What is wrong is told at the end; from then on nothing is kept. */
void json_stream_take(struct json_stream *stream, const char *text, size_t size);
/* Bytes that it keeps. */
size_t json_stream_held(const struct json_stream *stream);
/* Any array or object, without duplicate keys. NULL: `why` tells. Once. */
json_t *json_stream_end(struct json_stream *stream, struct json_longs **ret,
			struct json_refusal *why);
void json_stream_free(struct json_stream *stream);
#endif
