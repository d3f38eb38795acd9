/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a policy as it is in force: with all defaults filled in. */
#ifndef BRIG_CLI_POLICY_POLICY_PRINT_H
#define BRIG_CLI_POLICY_POLICY_PRINT_H

#include "base/bytes/buf.h"
#include "policy/policy.h"

void policy_print(const struct policy *policy, struct buf *out);
void policy_print_json(const struct policy *policy, struct buf *out);
#endif
