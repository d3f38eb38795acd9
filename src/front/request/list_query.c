/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of the ledger's lists: see list_query.h. */
#include "front/request/list_query.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"

#define LIST_USUAL 50
#define LIST_MAX   1000

/* A local user's name begins with "uid:". */
static bool tenant_ok(const char *name)
{
	return strcmp(name, LEDGER_ANY_TENANT) == 0 ||
	       id_name_valid(strncmp(name, "uid:", 4) == 0 ? name + 4 : name);
}

static int read_pair(const char *pair, size_t size, bool states, struct list_query *ret,
		     struct problem *problem)
{
	char *end = NULL;

	if (size == 33 && strncmp(pair, "before=", 7) == 0) {
		memcpy(ret->before, pair + 7, 26);
		if (id_valid(ret->before)) {
			return 0;
		}
	} else if (size > 6 && size < 11 && strncmp(pair, "limit=", 6) == 0 && pair[6] >= '0' &&
		   pair[6] <= '9') {
		unsigned long limit = strtoul(pair + 6, &end, 10);
		if (end == pair + size && limit >= 1 && limit <= LIST_MAX) {
			ret->limit = (unsigned)limit;
			return 0;
		}
	} else if (states && size == 10 && strncmp(pair, "state=gone", 10) == 0) {
		ret->gone = true;
		return 0;
	} else if (!states && size > 7 && size - 7 < sizeof(ret->tenant) &&
		   strncmp(pair, "tenant=", 7) == 0) {
		memcpy(ret->tenant, pair + 7, size - 7);
		ret->tenant[size - 7] = '\0';
		if (tenant_ok(ret->tenant)) {
			return 0;
		}
	}
	problem_set(problem, PROBLEM_INVALID_REQUEST, "the query is invalid");
	problem_remedy(problem, "%sbefore=ID and limit=1..%d are allowed",
		       states ? "state=gone, and with it " : "tenant=NAME, ", LIST_MAX);
	return -EINVAL;
}

int list_query_read(const char *query, bool states, struct list_query *ret, struct problem *problem)
{
	*ret = (struct list_query){ .limit = LIST_USUAL };
	while (query && *query) {
		size_t size = strcspn(query, "&");
		int r = read_pair(query, size, states, ret, problem);
		if (r < 0) {
			return r;
		}
		query += size;
		query += *query == '&';
	}
	return 0;
}
