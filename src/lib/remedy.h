/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What can be done about a limit: the verdict knows which it was, and here is known who may raise
 * it. A remedy names a setting that is not yet as high as it can be, or says whose ceiling holds.
 */
#ifndef BRIG_LIB_REMEDY_H
#define BRIG_LIB_REMEDY_H

#include <brig/brig.h>
#include <stdbool.h>

#include "policy/policy.h"

struct remedy_for {
	const struct policy *policy;
	struct brig_limits most; /* what the caller may have at most; 0: no bound of its own */
	bool compiler;           /* the limit was that of the compiler's cell */
};

void remedy_limit(const struct remedy_for *who, struct brig_result *result);
#endif
