/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A result as JSON behind its outcome, written in slices: a server with one thread does a step,
 * then serves other callers. Parts that do not fit into the bound are cut and marked; how the run
 * ended is always included.
 */
#ifndef BRIG_LIB_API_RESULT_WRITER_H
#define BRIG_LIB_API_RESULT_WRITER_H

#include <brig/brig.h>

#include "base/json/json_out.h"
#include "base/outcome.h"

/* Bytes of output or files in one step. */
#define RESULT_SLICE ((size_t)128 << 10)
/* Text from this length on is written in base64 if that is shorter than JSON's escapes. */
#define RESULT_TEXT_MAX ((size_t)1 << 20)

struct result_writer;

/*
 * `result` is borrowed until the writer is freed. `max`: bytes of the JSON; 0: no bound. `shared`:
 * a long result goes into a memory file.
 */
int result_writer_new(const struct brig_result *result, size_t max, bool shared,
		      struct result_writer **ret);
/* 1: there is more to do; 0: complete; -errno. */
int result_writer_step(struct result_writer *writer);
/* The outcome and the JSON; the caller owns the block. */
struct block *result_writer_take(struct result_writer *writer);
void result_writer_free(struct result_writer *writer); /* NULL does nothing */

/* --- result_json.c: all except the long parts ------------------------------------------------- */

void result_json_begin(struct json_out *out, const struct brig_result *result);
void result_json_change(struct json_out *out, const struct brig_change *change);
void result_json_rest(struct json_out *out, const struct brig_result *result);
#endif
