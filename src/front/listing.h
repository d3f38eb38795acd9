/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of what the ledger has: the question in a URL, and the way of the answer. */
#ifndef BRIG_FRONT_LISTING_H
#define BRIG_FRONT_LISTING_H

#include "front/visit.h"

struct list_query {
	char before[27]; /* "": from the newest on */
	unsigned limit;
	bool gone;       /* state=gone */
	char tenant[65]; /* "": the asker's own; LEDGER_ANY_TENANT: all */
};

/* before=ID, limit=N; with states state=gone, else tenant=NAME. NULL or "": none of them. */
int list_query_read(const char *query, bool states, struct list_query *ret,
		    struct problem *problem);

/* A question to the ledger cannot be taken back; its asker may leave. */
struct listing;
/* NULL: no memory. */
struct listing *listing_new(struct visit *visit);
/* The ledger_done of such a question: answers the visit with what has come. */
void listing_answered(void *user, const struct brig_error *error, const char *data, size_t size);
/* The question could not be asked; also when there is no listing. */
void listing_refuse(struct visit *visit, struct listing *listing);
#endif
