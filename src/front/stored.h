/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executions as the ledger tells of them. Results are passed on as they are, byte for byte: only
 * records of failures, which are ours and short, are parsed.
 */
#ifndef BRIG_FRONT_STORED_H
#define BRIG_FRONT_STORED_H

#include "front/visit.h"

struct stored {
	const char *head; /* the object up to the result's key, without it */
	size_t head_size;
	const char *result; /* the result object as text; NULL: there is none */
	size_t result_size;
	bool failed; /* there is a problem instead of a result */
	struct problem problem;
	char status[24];
};

/* What ledger_get() answered; the pointers are into `data`. -EPROTO: not such an object. */
int stored_read(const char *data, size_t size, struct stored *ret);
/* The execution object of the API. */
void stored_write(const struct stored *stored, struct buf *out);

/* Asks the ledger for an execution of the visitor's tenant; `done` has the visit as its user. */
void stored_get(struct visit *visit, const char *id,
		void (*done)(struct visit *visit, const struct stored *stored));
/* Answers with the execution object. */
void stored_answer(struct visit *visit, const struct stored *stored);
/* Answers with the result, or the problem, as if it had just ended. */
void stored_answer_result(struct visit *visit, const struct stored *stored);
#endif
