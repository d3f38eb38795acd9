/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the facts of a result for the ledger, and shortens results. */
#ifndef BRIG_LEDGER_RESULT_FACTS_H
#define BRIG_LEDGER_RESULT_FACTS_H

#include <jansson.h>
#include <stddef.h>

#include "base/outcome.h"

/* Its status, if it is a valid one; else NULL. The text is static. */
const char *result_status(const json_t *result);

/* The caller and the request. Any but the first may be NULL. */
struct result_origin {
	const char *execution;
	const char *caller;
	const char *session;
	const char *language;
	const char *policy;
	const char *code_sha256;
};

/*
 * An object for the audit chain: the caller, and how the run ended: status, verdict, denial, usage,
 * limits; never its output. Values of the wrong type or size become null.
 */
void result_facts(const struct result_origin *origin, const json_t *result, struct buf *out);
/*
 * Shortens it to about `max` bytes; it stays a valid result: files are removed first, then changes
 * and value, then the end of the output. `skeleton` is the result without its long parts, and is
 * changed. Appends the JSON; `ret` is its outcome.
 */
int result_cut(json_t *skeleton, const struct outcome *outcome, const char *json, size_t max,
	       struct outcome *ret, struct buf *out);
#endif
