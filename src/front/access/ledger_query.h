/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queries to the ledger on behalf of a request. A few queries of a tenant are with the ledger at a
 * time, some more wait here in order, and those above that are refused with 429. So no tenant takes
 * the room of others in the ledger's queue.
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
	char tenant[TOKEN_NAME_MAX + 1]; /* the owner of the execution; or LEDGER_ANY_TENANT */
	char id[27];    /* of the execution; of a list: it begins after this one, if it is not "" */
	unsigned limit; /* of a list */
	/* For an execution: called with the answer. */
	void (*found)(struct request *request, const struct stored *stored);
};

typedef void ledger_query_done(struct request *request, const struct ledger_query_text *text,
			       const struct brig_error *error, const char *data, size_t size);

/*
 * `done` is called later, once, with the ledger's answer, unless the request ends before. The
 * request's state and `closed` are used until then. If the query cannot be sent the request is
 * refused.
 */
void ledger_query_send(struct request *request, const struct ledger_query_text *text,
		       ledger_query_done *done);
/* Passes the ledger's answer on to the client unchanged. */
ledger_query_done ledger_query_pass_on;
#endif
