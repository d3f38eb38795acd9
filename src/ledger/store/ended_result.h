/* SPDX-License-Identifier: Apache-2.0 */
/* The end of an execution as the front reports it, read and checked without a store. */
#ifndef BRIG_LEDGER_ENDED_RESULT_H
#define BRIG_LEDGER_ENDED_RESULT_H

#include <jansson.h>

#include "base/error.h"
#include "base/outcome.h"

/* A result of a run, or a short record of a failure without an outcome. */
struct ended_result {
	const char *data; /* borrowed */
	size_t size;
	const char *json; /* in it, behind the outcome */
	struct outcome outcome;
	json_t *skeleton; /* owned: everything except the long parts */
};

/* -EPROTO: it is invalid; `id` is for the message. The bytes must stay until it is done. */
int ended_result_read(struct ended_result *result, const char *id, const char *data, size_t size,
		      struct brig_error *error);
void ended_result_done(struct ended_result *result);
#endif
