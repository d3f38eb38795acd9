/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Questions to the ledger that a request makes. A few of a tenant's are with the ledger at a time,
 * some more wait here in their order, and what is above that is refused with 429: so nobody's
 * questions take the place of others' in the ledger's queue.
 */
#ifndef BRIG_FRONT_ACCESS_LEDGER_QUERY_H
#define BRIG_FRONT_ACCESS_LEDGER_QUERY_H

#include "front/request/request.h"

struct stored;

enum question_kind { QUESTION_EXECUTION, QUESTION_EXECUTIONS, QUESTION_SESSIONS_GONE };

struct question_text {
	enum question_kind kind;
	char tenant[TOKEN_NAME_MAX + 1]; /* whose it may be; or LEDGER_ANY_TENANT */
	char id[27];    /* the execution; of a list: it begins behind this one, if it is not "" */
	unsigned limit; /* of a list */
	/* Of an execution: who wants to know. */
	void (*found)(struct visit *visit, const struct stored *stored);
};

typedef void question_done(struct visit *visit, const struct question_text *text,
			   const struct brig_error *error, const char *data, size_t size);

/*
 * `done` comes later, once, with what the ledger said, unless the visit ends before. The visit's
 * state and `closed` are used until then. If it cannot be asked the visit is refused.
 */
void question_ask(struct visit *visit, const struct question_text *text, question_done *done);
/* Answers with what has come, as it is. */
question_done question_pass_on;
#endif
