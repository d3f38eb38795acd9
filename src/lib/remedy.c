/* SPDX-License-Identifier: Apache-2.0 */
/* Advice about a limit that was reached: see remedy.h. */
#include "lib/remedy.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"

static const struct limit_info *find_limit(const char *name)
{
	for (size_t i = 0; i < LIMITS_COUNT; i++) {
		if (strcmp(limit_table[i].name, name) == 0) {
			return &limit_table[i];
		}
	}
	return NULL;
}

/* The alternative to a higher limit on output. */
static const char *also(const struct limit_info *info)
{
	bool output = strcmp(info->key, "stdout") == 0 || strcmp(info->key, "stderr") == 0;

	return output ? " on_output_limit \"cut\" in the policy keeps the beginning, and lets it "
			"run."
		      : "";
}

static void advise_caller(const struct limit_info *info, const struct policy *policy,
			  uint64_t bound, struct brig_result *result)
{
	size_t length = strlen(result->remedy);
	char most[32];

	unit_format(info->unit, bound, most, sizeof(most));
	snprintf(result->remedy + length, sizeof(result->remedy) - length,
		 " Or ask for more: %s (%s), up to %s.", info->option, info->name, most);
	/* If the request asked for less than the policy gives, the operator cannot help. */
	uint64_t given = limit_value(&policy->limits, info);
	if (limit_value(&result->limits, info) < given) {
		unit_format(info->unit, given, most, sizeof(most));
		snprintf(result->operator_remedy, sizeof(result->operator_remedy),
			 "The request asked for less than policy %s gives, %s.%s", policy->name,
			 most, also(info));
		return;
	}
	snprintf(result->operator_remedy, sizeof(result->operator_remedy),
		 "Raise limits.%s in policy %s.%s", info->key, policy->name, also(info));
}

static void advise_operator(const struct limit_info *info, const struct policy *policy,
			    uint64_t value, bool callers, struct brig_result *result)
{
	char text[32];

	unit_format(info->unit, value, text, sizeof(text));
	if (callers) {
		snprintf(result->operator_remedy, sizeof(result->operator_remedy),
			 "The run had all that its caller may have, %s: raise %s of the caller's "
			 "token.%s",
			 text, info->name, also(info));
		return;
	}
	snprintf(result->operator_remedy, sizeof(result->operator_remedy),
		 "The run had all that the operator's ceiling allows, %s: raise ceiling.%s of "
		 "policy %s.%s",
		 text, info->key, policy->name, also(info));
}

void remedy_limit(const struct remedy_for *run, struct brig_result *result)
{
	const struct limit_info *info = find_limit(result->limit_name);

	if (!info) {
		return;
	}
	if (run->compiler) {
		snprintf(result->operator_remedy, sizeof(result->operator_remedy),
			 "Raise compile.limits.%s in policy %s.", info->key, run->policy->name);
		return;
	}
	uint64_t value = limit_value(&result->limits, info);
	uint64_t ceiling = limit_value(&run->policy->ceiling, info);
	uint64_t own = limit_value(&run->most, info);
	bool callers = own && own < ceiling;
	uint64_t bound = callers ? own : ceiling;

	if (value < bound) {
		advise_caller(info, run->policy, bound, result);
	} else {
		advise_operator(info, run->policy, value, callers, result);
	}
}
