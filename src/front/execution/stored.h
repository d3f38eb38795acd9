/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executions as the ledger tells of them. Results are passed on as they are, byte for byte: only
 * records of failures, which are ours and short, are parsed.
 */
#ifndef BRIG_FRONT_EXECUTION_STORED_H
#define BRIG_FRONT_EXECUTION_STORED_H

#include "front/request/request.h"

struct stored {
	struct run_result result; /* block NULL: there is none */
	const char *head;         /* the object up to the result's key, without it */
	size_t head_size;
	bool failed; /* there is a problem instead of a result */
	struct problem problem;
	char tenant[65]; /* whose it is */
	char status[24];
};

/* What ledger_get() answered; it refers to `block`. -EPROTO: not such an answer. */
int stored_read(struct block *block, struct stored *ret);
void stored_done(struct stored *stored);
/* The execution object of the API. */
void stored_write(const struct stored *stored, struct rope *out);

/*
 * Asks the ledger for an execution of the visitor's tenant; `done` has the visit as its user. Only
 * a few of a tenant's questions are with the ledger at a time, the others wait here.
 */
void stored_get(struct request *request, const char *id,
		void (*done)(struct request *request, const struct stored *stored));
/* Answers with the execution object. */
void stored_answer(struct request *request, const struct stored *stored);
/* Answers with the result, or the problem, as if it had just ended. */
void stored_answer_result(struct request *request, const struct stored *stored);
#endif
