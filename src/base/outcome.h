/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a run, for programs: a record of fixed size in front of the result's JSON, which is
 * for clients. A role that passes a result on reads the record, and finds the long parts of the
 * JSON by their offsets; no role parses a whole result.
 */
#ifndef BRIG_BASE_OUTCOME_H
#define BRIG_BASE_OUTCOME_H

#include <brig/brig.h>

#include "base/bytes/block.h"
#include "base/bytes/buf.h"

/* The longest JSON of a result that the service makes, keeps and passes on. */
#define OUTCOME_JSON_MAX ((size_t)96 << 20)
/*
 * Everything except the long parts: its bytes, and its commas, colons and brackets. Parsing that
 * much takes 7 ms; the longest that a program can cause has a fifth of both.
 */
#define OUTCOME_SKELETON_MAX    ((size_t)1 << 20)
#define OUTCOME_SKELETON_VALUES 16384u
#define OUTCOME_MAX             (sizeof(struct outcome) + OUTCOME_JSON_MAX)

/* The parts that a program can make long, in their order. */
enum outcome_part_kind {
	OUTCOME_STDOUT,
	OUTCOME_STDERR,
	OUTCOME_VALUE,
	OUTCOME_FILES,
	OUTCOME_CHANGES,
	OUTCOME_PARTS,
};

/* A value in the JSON, with its quotes or brackets; size 0: there is none. */
struct outcome_part {
	uint64_t at, size;
};

enum outcome_flags {
	OUTCOME_BASE64 = 1, /* stdout and stderr are base64 */
};

struct outcome {
	uint64_t magic;
	uint32_t status;   /* enum brig_status */
	int32_t exit_code; /* -1: none */
	uint32_t flags;    /* enum outcome_flags */
	uint32_t unused;
	uint64_t cpu_ns, wall_ns;
	uint64_t event_counts[BRIG_EVENT_KINDS];
	uint64_t bytes[2]; /* of stdout and of stderr, as written by the program */
	uint64_t json_size;
	struct outcome_part parts[OUTCOME_PARTS];
};

void outcome_init(struct outcome *outcome);
/* -EPROTO: invalid, or inconsistent with this JSON. */
int outcome_check(const struct outcome *outcome, const char *json, size_t size);
/*
 * Reads the record at the beginning of a block, and the JSON behind it. -EPROTO: invalid, or
 * inconsistent with the JSON.
 */
int outcome_read(const char *data, size_t size, struct outcome *ret, const char **ret_json);
/*
 * The same from the JSON alone, in one pass without allocations: for results that were stored
 * before there were records. Only status, flags and offsets are set. -EPROTO: not such an object,
 * or its long parts are not in their order.
 */
int outcome_find(const char *json, size_t size, struct outcome *ret);
/* The result without its long parts, which become "", null or []. */
void outcome_skeleton(const struct outcome *outcome, const char *json, struct buf *out);
/* The same as an object, for json_decref(). -EPROTO: it is not one. outcome_parse.c */
struct json_t;
int outcome_parse(const struct outcome *outcome, const char *json, struct json_t **ret);

/* --- a stream in slices ----------------------------------------------------------------------- */

struct outcome_stream {
	const char *begin, *at, *end; /* between the quotes */
	size_t offset;                /* bytes that were read or skipped */
	bool base64;
};

/* 0: stdout, 1: stderr. */
void outcome_stream_open(const struct outcome *outcome, const char *json, int stream,
			 struct outcome_stream *ret);
/* Skips at most `size` bytes; returns how many. Fewer: that is the end. */
size_t outcome_stream_skip(struct outcome_stream *stream, size_t size);
/* At most `room` bytes (16 at least), whole characters of text; 0 at the end. */
size_t outcome_stream_read(struct outcome_stream *stream, char *out, size_t room);

/* --- files ------------------------------------------------------------------------------------ */

struct outcome_file {
	const char *head; /* the object up to its content: JSON, except the last "}" */
	size_t head_size;
	uint64_t size; /* of the file */
	const char *base64;
	size_t base64_size;
};

/* The next file; `at` is kept by the caller, 0 at the beginning. False: no more. */
bool outcome_file_next(const struct outcome *outcome, const char *json, size_t *at,
		       struct outcome_file *ret);
/* Its path, for free(); NULL: it is not valid, or there is no memory. */
char *outcome_file_path(const struct outcome_file *file);
/* The rest of its head, behind the path, as the text of an object. */
void outcome_file_rest(const struct outcome_file *file, struct buf *out);
#endif
