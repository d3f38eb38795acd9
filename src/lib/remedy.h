/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Advice about a limit that was reached. The verdict names the limit; this part knows who can raise
 * it. A remedy names a setting that is below its maximum, or the ceiling that applies.
 */
#ifndef BRIG_LIB_REMEDY_H
#define BRIG_LIB_REMEDY_H

#include <brig/brig.h>
#include <stdbool.h>

#include "policy/policy.h"

struct remedy_for {
	const struct policy *policy;
	struct brig_limits most; /* the caller's own maximum; 0: none */
	bool compiler;           /* the limit is one of the compiler's cell */
};

void remedy_limit(const struct remedy_for *run, struct brig_result *result);
#endif
