/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executions as the ledger stores them. Results are passed on byte for byte: only records of
 * failures, which the front wrote itself and which are short, are parsed.
 */
#ifndef BRIG_FRONT_EXECUTION_STORED_H
#define BRIG_FRONT_EXECUTION_STORED_H

#include "front/request/request.h"

struct stored {
	struct run_result result; /* block NULL: no result */
	const char *head;         /* the object up to the key of the result, without it */
	size_t head_size;
	bool failed; /* there is a problem instead of a result */
	struct problem problem;
	char tenant[65]; /* that owns it */
	char status[24];
};

/* Reads the answer of ledger_get(), and refers to `block`. -EPROTO: not such an answer. */
int stored_read(struct block *block, struct stored *ret);
void stored_done(struct stored *stored);
/* The execution object of the API. */
void stored_write(const struct stored *stored, struct rope *out);

/*
 * Queries the ledger for an execution of the request's tenant; `done` is called with the request.
 * Only a few queries of a tenant are with the ledger at a time, the others wait here.
 */
void stored_get(struct request *request, const char *id,
		void (*done)(struct request *request, const struct stored *stored));
/* Answers with the execution object. */
void stored_answer(struct request *request, const struct stored *stored);
/* Answers with the result, or the problem, as if the execution had just ended. */
void stored_answer_result(struct request *request, const struct stored *stored);
#endif
