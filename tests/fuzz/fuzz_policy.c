/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a policy file: an error with a position, or a policy that keeps its guarantees. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "policy/policy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void hold(int truth)
{
	if (!truth) {
		abort();
	}
}

static void check(struct policy *policy)
{
	for (size_t i = 0; i < LIMITS_COUNT; i++) {
		hold(*limit_of(&policy->limits, &limit_table[i]) <=
		     *limit_of(&policy->ceiling, &limit_table[i]));
		hold(*limit_of(&policy->limits, &limit_table[i]) >= limit_table[i].least);
	}
	hold(policy->provider == &local_provider || policy->filter.count > 0);
	hold(policy->provider == &native_provider || policy->auto_run != AUTO_RUN_YES);
	for (size_t i = 0; i < policy->mounts_count; i++) {
		hold(policy->mounts[i].path[0] == '/' && !strstr(policy->mounts[i].path, "/../"));
	}
	if (!strlist_has(&policy->env_allow, "LD_PRELOAD")) {
		hold(!policy_env_allowed(policy, "LD_PRELOAD"));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct policy *policy = NULL;
	struct brig_error err = { 0 };
	int r = policy_parse("fuzz.json", (const char *)data, size, &policy, &err);

	if (r < 0) {
		hold(policy == NULL && err.message[0] != '\0' && err.code != BRIG_E_NONE);
		return 0;
	}
	check(policy);
	policy_free(policy);
	return 0;
}
