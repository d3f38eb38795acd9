/* SPDX-License-Identifier: Apache-2.0 */
/* The result of a run: the block that it came in, and its parsed outcome. */
#ifndef BRIG_FRONT_EXECUTION_RUN_RESULT_H
#define BRIG_FRONT_EXECUTION_RUN_RESULT_H

#include "base/bytes/rope.h"
#include "base/outcome.h"

struct run_result {
	struct block *block; /* a reference; NULL: there is none */
	struct outcome outcome;
	size_t at; /* of the JSON in the block */
};

static inline const char *run_result_json(const struct run_result *result)
{
	return result->block->data + result->at;
}

static inline size_t run_result_size(const struct run_result *result)
{
	return (size_t)result->outcome.json_size;
}

/* Appends the JSON to a text. */
static inline void run_result_write(const struct run_result *result, struct rope *out)
{
	rope_block(out, result->block, result->at, run_result_size(result));
}

static inline void run_result_copy(const struct run_result *from, struct run_result *to)
{
	*to = *from;
	block_ref(to->block);
}

static inline void run_result_done(struct run_result *result)
{
	block_unref(result->block);
	result->block = NULL;
}
#endif
