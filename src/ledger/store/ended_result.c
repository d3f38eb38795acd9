/* SPDX-License-Identifier: Apache-2.0 */
/* Reads reported ends: see ended_result.h. */
#include "ledger/store/ended_result.h"

#include <errno.h>

#include "ledger/store/result_facts.h"

static int read_all(struct ended_result *result)
{
	int r = result->size && result->data[0] == '{'
			? outcome_find(result->data, result->size, &result->outcome)
			: outcome_read(result->data, result->size, &result->outcome, &result->json);

	if (r < 0) {
		return r;
	}
	r = outcome_parse(&result->outcome, result->json, &result->skeleton);
	return r == 0 && !result_status(result->skeleton) ? -EPROTO : r;
}

int ended_result_read(struct ended_result *result, const char *id, const char *data, size_t size,
		      struct brig_error *error)
{
	*result = (struct ended_result){ .data = data, .json = data, .size = size };
	int r = read_all(result);

	if (r >= 0) {
		return 0;
	}
	ended_result_done(result);
	/* An end that is invalid is never sent again; one without memory must be. */
	return r == -ENOMEM ? error_set(error, BRIG_E_SYSTEM, ENOMEM,
					"execution %s: no memory for its result", id)
			    : error_set(error, BRIG_E_INPUT, EPROTO,
					"execution %s: the result is invalid", id);
}

void ended_result_done(struct ended_result *result)
{
	json_decref(result->skeleton);
	*result = (struct ended_result){ 0 };
}
