/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ids of runs, which the front chooses. The front is not trusted: two runs with one id would
 * have one control group, and one of them could be taken for the other.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "engine/local/engine_local.h"

/* The last characters of an id are random. */
static struct list *chain_of(struct local *local, const char *id)
{
	size_t last = strlen(id) - 1;

	return &local->ids[((unsigned char)id[last] * 31u + (unsigned char)id[last - 1]) %
			   LOCAL_ID_CHAINS];
}

int local_id_take(struct engine_run *run, const struct engine_call *call, struct brig_error *err)
{
	if (call->op != ENGINE_EXECUTE || !call->id) {
		return 0;
	}
	if (!id_valid(call->id)) {
		return error_set(err, BRIG_E_INPUT, EINVAL, "the id of the run is not valid");
	}
	struct list *chain = chain_of(run->local, call->id);
	LIST_EACH(struct engine_run, it, chain, id_node) {
		if (strcmp(it->id, call->id) == 0) {
			return error_set(err, BRIG_E_SYSTEM, EEXIST, "another run has the id %s",
					 call->id);
		}
	}
	memcpy(run->id, call->id, sizeof(run->id));
	list_append(chain, &run->id_node);
	return 0;
}

void local_id_drop(struct engine_run *run)
{
	if (run->id[0]) {
		list_remove(chain_of(run->local, run->id), &run->id_node);
	}
}
