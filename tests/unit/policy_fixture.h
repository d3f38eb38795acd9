/* SPDX-License-Identifier: Apache-2.0 */
/* Built-in policies for tests, and their decisions about single calls. Needs cmocka.h before it. */
#ifndef BRIG_TESTS_POLICY_FIXTURE_H
#define BRIG_TESTS_POLICY_FIXTURE_H

#include <linux/audit.h>

#include "policy/policy.h"
#include "policy/syscalls.h"

/* The upper half of a register, which the kernel ignores in arguments of 32 bits. */
#define HIGH UINT64_C(0xdead00000000)

static inline struct policy *load(const char *name)
{
	struct policy_source source = { 0 };
	struct policy *policy = NULL;
	struct brig_error err = { 0 };

	if (policy_load(&source, name, &policy, &err) < 0) {
		fail_msg("%s", err.message);
	}
	return policy;
}

static inline struct filter_decision decide(const struct policy *policy, const char *call,
					    const uint64_t args[6])
{
	int number = syscall_number(call);

	if (number < 0) {
		fail_msg("no call %s", call);
	}
	return filter_decide(&policy->filter, AUDIT_ARCH_X86_64, (uint32_t)number, args);
}
#endif
