/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The providers that a policy names, strongest first. Those that lack something that the policy
 * needs are never used; which of the others is used, the host decides (lib/choice).
 */
#ifndef BRIG_POLICY_CANDIDATES_H
#define BRIG_POLICY_CANDIDATES_H

#include "provider/provider.h"

struct brig_error;
struct policy;
struct policy_reader;

struct policy_candidate {
	const struct provider *provider;
	const char *lack; /* why the policy cannot use it, static; NULL: it can */
};

/* The only candidate: a policy that gives one name. */
void policy_set_provider(struct policy *policy, const struct provider *provider);
/* NULL: the policy does not name it. */
const struct policy_candidate *policy_candidate(const struct policy *policy, const char *name);
/* "oci, native": in their order. Cut if it is too long. */
const char *policy_candidates_list(const struct policy *policy, char *text, size_t size);
/* Can a run under this policy be one without walls? */
bool policy_without_walls(const struct policy *policy);

/*
 * Finds what each candidate lacks. A single name that lacks something is an error, and so is a list
 * without any provider that can be used.
 */
int policy_weigh(struct policy_reader *reader);
/* The operator's ceiling: candidates that it does not name are never used. */
int policy_restrict_providers(struct policy_reader *reader, const struct policy *operators);
#endif
