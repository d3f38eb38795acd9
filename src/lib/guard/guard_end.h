/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a guarded program, as its driver reports it. The program shares the driver's process,
 * so it can forge the report: only a rule and a line are read, and only where the policy has a
 * guard with that rule. Every text is brig's own.
 */
#ifndef BRIG_LIB_GUARD_GUARD_END_H
#define BRIG_LIB_GUARD_GUARD_END_H

#include <brig/brig.h>

#include "lib/guard/guard.h"

#define GUARD_END_TEXT 64 /* "RULE LINE", with its end */

void guard_end(const struct guard *guard, const char *text, struct brig_result *result);
/* Adds the event of a refusal that is in the result already. */
void guard_note(struct brig_result *result);
#endif
