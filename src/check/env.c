/* SPDX-License-Identifier: Apache-2.0 */
/* Environment variables that a request sets. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "check/internal.h"

static bool set_by_policy(const struct policy *policy, const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; i < policy->env_set.count; i++) {
		const char *pair = policy->env_set.items[i];
		if (strncmp(pair, name, length) == 0 && pair[length] == '=') {
			return true;
		}
	}
	return false;
}

int check_answer_env(struct check *check, const char *text, struct check_answer *ret,
		     struct brig_error *err)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
	int entry = policy_env_entry(check->policy, text);
	const char *set = set_by_policy(check->policy, text) ? "; the policy sets it itself" : "";
	char what[140];

	if (text[0] == '\0' || strspn(text, letters) != strlen(text) || strlen(text) > 128 ||
	    (text[0] >= '0' && text[0] <= '9')) {
		int r = error_set(err, BRIG_E_INPUT, EINVAL,
				  "\"%.64s\" is not a valid variable name", text);
		error_remedy(err, "write the name alone, without a value");
		return r;
	}
	if (entry >= 0) {
		policy_trace_item(&check->trace, "env", "allow", (size_t)entry, &ret->origin);
		check_set_answer(ret, CHECK_ALLOWED, "\"%s\" allows a request to set it%s",
				 check->policy->env_allow.items[entry], set);
		snprintf(ret->condition, sizeof(ret->condition), "--env %.128s=VALUE", text);
		return 0;
	}
	policy_trace_key(&check->trace, "env", "allow", &ret->origin);
	check_set_answer(
		ret, CHECK_REFUSED, "%s%s",
		policy_env_dangerous(text)
			? "it changes which code runs: no pattern allows it, only its exact name"
			: "no entry of the list matches",
		set);
	snprintf(what, sizeof(what), "\"%s\"", text);
	check_repair(check, ret, REPAIR_ADD, "env", "allow", what);
	return 0;
}
