/* SPDX-License-Identifier: Apache-2.0 */
/* What the ledger reads out of a result, and how it makes a result smaller. */
#ifndef BRIG_LEDGER_RESULT_FACTS_H
#define BRIG_LEDGER_RESULT_FACTS_H

#include <jansson.h>
#include <stddef.h>

#include "base/outcome.h"

/* Its status, if it is one that results can have; else NULL. The text is static. */
const char *result_status(const json_t *result);

/* Who asked, and for what. Any but the first may be NULL. */
struct result_who {
	const char *execution;
	const char *caller;
	const char *session;
	const char *language;
	const char *policy;
	const char *code_sha256;
};

/*
 * An object for the audit chain: who, and how the run ended: status, verdict, denial, usage,
 * limits; never what it printed or wrote. Whatever is not of the right kind or size is null.
 */
void result_facts(const struct result_who *who, const json_t *result, struct buf *out);
/*
 * Makes it fit into about `max` bytes, a result all the same: files go first, then changes and
 * value, then the end of what was printed. `skeleton` is the result without its long parts, and is
 * changed. Appends the JSON; `ret` is its outcome.
 */
int result_cut(json_t *skeleton, const struct outcome *outcome, const char *json, size_t max,
	       struct outcome *ret, struct buf *out);
#endif
