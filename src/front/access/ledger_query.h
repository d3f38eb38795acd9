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

enum ledger_query_kind {
	LEDGER_QUERY_EXECUTION,
	LEDGER_QUERY_EXECUTIONS,
	LEDGER_QUERY_SESSIONS_GONE
};

struct ledger_query_text {
	enum ledger_query_kind kind;
	char tenant[TOKEN_NAME_MAX + 1]; /* whose it may be; or LEDGER_ANY_TENANT */
	char id[27];    /* the execution; of a list: it begins behind this one, if it is not "" */
	unsigned limit; /* of a list */
	/* Of an execution: who wants to know. */
	void (*found)(struct request *request, const struct stored *stored);
};

typedef void ledger_query_done(struct request *request, const struct ledger_query_text *text,
			       const struct brig_error *error, const char *data, size_t size);

/*
 * `done` comes later, once, with what the ledger said, unless the visit ends before. The visit's
 * state and `closed` are used until then. If it cannot be asked the visit is refused.
 */
void ledger_query_send(struct request *request, const struct ledger_query_text *text,
		       ledger_query_done *done);
/* Answers with what has come, as it is. */
ledger_query_done ledger_query_pass_on;
#endif
