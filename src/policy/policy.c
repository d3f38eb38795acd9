/* SPDX-License-Identifier: Apache-2.0 */
/* A policy in memory. */
#include "policy/policy.h"

#include <stdlib.h>

#include "policy/policy_reader.h"

struct policy *policy_new(void)
{
	struct policy *policy = calloc(1, sizeof(*policy));

	if (!policy) {
		return NULL;
	}
	policy_set_provider(policy, providers[0]);
	policy->auto_run = AUTO_RUN_ASK;
	policy->network = (struct policy_network){ .connections = 32,
						   .connections_total = 10000,
						   .rate = 100 };
	for (size_t i = 0; i < LIMITS_COUNT; i++) {
		*limit_of(&policy->limits, &limit_table[i]) = limit_table[i].usual;
	}
	return policy;
}

static void free_daemon(struct daemon_settings *settings)
{
	free(settings->socket);
	free(settings->image);
	free(settings->runtime);
}

void policy_free(struct policy *policy)
{
	if (!policy) {
		return;
	}
	free(policy->description);
	free(policy->oci_runtime);
	free(policy->gvisor_runtime);
	free(policy->vm.qemu);
	free(policy->vm.kernel);
	free(policy->wasm_engine);
	free_daemon(&policy->docker);
	free_daemon(&policy->podman);
	launcher_done(&policy->launcher);
	machine_done(&policy->machine);
	for (size_t i = 0; i < policy->mounts_count; i++) {
		free(policy->mounts[i].path);
	}
	free(policy->mounts);
	policy_venvs_done(policy);
	strlist_done(&policy->env_set);
	strlist_done(&policy->env_allow);
	strlist_done(&policy->runtimes);
	strlist_done(&policy->syscalls);
	strlist_done(&policy->guard.modules);
	strlist_done(&policy->monitor.calls);
	strlist_done(&policy->monitor.files);
	filter_done(&policy->filter);
	policy_network_done(&policy->network);
	free(policy);
}

bool policy_runtime_allowed(const struct policy *policy, const char *runtime)
{
	return policy->runtimes.count == 0 || strlist_has(&policy->runtimes, runtime);
}
