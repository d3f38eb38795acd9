/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of the ledger's lists: the query of a URL. */
#ifndef BRIG_FRONT_REQUEST_LIST_QUERY_H
#define BRIG_FRONT_REQUEST_LIST_QUERY_H

#include "front/request/request.h"

struct list_query {
	char before[27]; /* "": starting with the newest */
	unsigned limit;
	bool gone;       /* state=gone */
	char tenant[65]; /* "": the caller's own; LEDGER_ANY_TENANT: all */
};

/* before=ID, limit=N; with states also state=gone, else tenant=NAME. NULL or "": none of them. */
int list_query_read(const char *query, bool states, struct list_query *ret,
		    struct problem *problem);
#endif
