/* SPDX-License-Identifier: Apache-2.0 */
/* The entries of a policy's "syscalls" list. */
#ifndef BRIG_POLICY_SYSCALLS_H
#define BRIG_POLICY_SYSCALLS_H

#include "policy/policy.h"

#define SYSCALL_ENTRIES_MAX 512

/* Is it a known group or call? On failure the error suggests the nearest name. */
int syscall_entry_check(const char *entry, struct brig_error *err);
#endif
