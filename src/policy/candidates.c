/* SPDX-License-Identifier: Apache-2.0 */
/* The providers of a policy, and what each lacks: see candidates.h. */
#include "policy/candidates.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/policy_reader.h"

#define NOT_IN_CEILING "is not in the operator's ceiling"

void policy_set_provider(struct policy *policy, const struct provider *provider)
{
	policy->candidates[0] = (struct policy_candidate){ .provider = provider };
	policy->candidates_count = 1;
	policy->provider = provider;
}

const struct policy_candidate *policy_candidate(const struct policy *policy, const char *name)
{
	for (size_t i = 0; i < policy->candidates_count; i++) {
		if (strcmp(policy->candidates[i].provider->name, name) == 0) {
			return &policy->candidates[i];
		}
	}
	return NULL;
}

const char *policy_candidates_list(const struct policy *policy, char *text, size_t size)
{
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < policy->candidates_count && used < size; i++) {
		used += (size_t)snprintf(text + used, size - used, "%s%s", i ? ", " : "",
					 policy->candidates[i].provider->name);
	}
	return text;
}

bool policy_without_walls(const struct policy *policy)
{
	for (size_t i = 0; i < policy->candidates_count; i++) {
		const struct policy_candidate *one = &policy->candidates[i];
		if (!one->lack && !provider_can(one->provider, ABILITY_WALLS)) {
			return true;
		}
	}
	return false;
}

/* --- reading ---------------------------------------------------------------------------------- */

static size_t all_names(const char *names[PROVIDERS_MAX])
{
	size_t count = 0;

	for (; providers[count]; count++) {
		names[count] = providers[count]->name;
	}
	return count;
}

static int check_provider(struct policy_reader *reader, const char *path, const char *item)
{
	const char *names[PROVIDERS_MAX];

	return provider_find(item)
		       ? 0
		       : reader_unknown(reader, path, "value", item, names, all_names(names));
}

static int read_list(struct policy_reader *reader, const char *path, json_t *value)
{
	struct policy *policy = reader->policy;
	_cleanup_(strlist_done)
	struct strlist names = { 0 };
	int r = read_array(reader, path, value, PROVIDERS_MAX);

	r = r < 0 ? r : read_strings(reader, path, value, check_provider, &names);
	if (r < 0) {
		return r;
	}
	if (names.count == 0) {
		json_doc_error(reader->doc, path, BRIG_E_POLICY, reader->err,
			       "an empty list: no provider could be used");
		error_remedy(reader->err, "name at least one, the strongest first");
		return -EINVAL;
	}
	for (size_t i = 0; i < names.count; i++) {
		policy->candidates[i] =
			(struct policy_candidate){ .provider = provider_find(names.items[i]) };
	}
	policy->candidates_count = names.count;
	policy->provider = policy->candidates[0].provider;
	return 0;
}

int read_provider(struct policy_reader *reader, const char *path, json_t *value)
{
	const char *names[PROVIDERS_MAX];
	const struct reader_choice choice = { names, (unsigned)all_names(names) };
	unsigned chosen = 0;

	if (json_is_array(value)) {
		return read_list(reader, path, value);
	}
	int r = read_choice(reader, path, value, &choice, &chosen);
	if (r == 0) {
		policy_set_provider(reader->policy, providers[chosen]);
	}
	return r;
}

/* --- abilities -------------------------------------------------------------------------------- */

static bool has_key(const struct policy_reader *reader, const char *key)
{
	return json_object_get(reader->doc->root, key) != NULL;
}

static bool runs_unasked(const struct policy *policy, const struct provider *provider)
{
	(void)provider;
	return policy->auto_run == AUTO_RUN_YES;
}

static bool guards(const struct policy *policy, const struct provider *provider)
{
	(void)provider;
	return policy->guard.mode != GUARD_OFF;
}

static bool filters_calls(const struct policy *policy, const struct provider *provider)
{
	(void)provider;
	return policy->syscalls.count > 0;
}

/* Where there are walls, a network that is closed needs nothing more. */
static bool rules_network(const struct policy *policy, const struct provider *provider)
{
	return policy->network.allow_count > 0 ||
	       (policy->network_given && !provider_can(provider, ABILITY_WALLS));
}

static bool watches_calls(const struct policy *policy, const struct provider *provider)
{
	(void)provider;
	return policy->monitor.calls.count + policy->monitor.files.count > 0;
}

static bool has_venv(const struct policy *policy, const struct provider *provider)
{
	(void)provider;
	return policy->venv != NULL;
}

static bool counts_instructions(const struct policy *policy, const struct provider *provider)
{
	(void)provider;
	return policy->limits.instructions < LIMIT_INSTRUCTIONS_NONE;
}

/* Settings of a policy, the ability that each needs, and the remedy where the provider lacks it. */
static const struct need {
	enum ability ability;
	const char *key;
	bool (*wanted)(const struct policy *policy, const struct provider *provider);
	const char *lack, *repair;
	bool always; /* a list does not help: the policy is wrong */
} needs[] = {
	{ ABILITY_WALLS, "auto_run", runs_unasked,
	  "has no walls: it never runs without a person's consent",
	  "set auto_run to \"ask\" or \"never\"", true },
	{ ABILITY_VALUE, "guard", guards, "cannot guard code", "set guard to \"off\"", false },
	{ ABILITY_CALL_RULES, "syscalls", filters_calls, "does not filter system calls",
	  "set syscalls to []", false },
	{ ABILITY_NETWORK, "network", rules_network,
	  "cannot open the network for allowed hosts only", "leave network out", false },
	{ ABILITY_CALL_WATCH, "monitor", watches_calls, "cannot watch system calls",
	  "leave monitor.calls and monitor.files out", false },
	{ ABILITY_VENV, "venv", has_venv, "has no virtualenvs", "leave venv out", false },
	{ ABILITY_INSTRUCTIONS, "limits", counts_instructions, "cannot count instructions",
	  "leave limits.instructions out", false },
};

static const struct need *find_need(const struct policy *policy, const struct provider *provider)
{
	for (size_t i = 0; i < ARRAY_SIZE(needs); i++) {
		if (!provider_can(provider, needs[i].ability) &&
		    needs[i].wanted(policy, provider)) {
			return &needs[i];
		}
	}
	return NULL;
}

static int refuse(struct policy_reader *reader, const struct provider *provider,
		  const struct need *need)
{
	json_doc_error(reader->doc, has_key(reader, need->key) ? need->key : "provider",
		       BRIG_E_POLICY, reader->err, "provider %s %s", provider->name, need->lack);
	error_remedy(reader->err, "%s, or provider to \"%s\"", need->repair, providers[0]->name);
	return -EINVAL;
}

/* The first that can be used. 0: none. */
static int settle(struct policy *policy)
{
	for (size_t i = 0; i < policy->candidates_count; i++) {
		if (!policy->candidates[i].lack) {
			policy->provider = policy->candidates[i].provider;
			return 1;
		}
	}
	return 0;
}

int policy_weigh(struct policy_reader *reader)
{
	struct policy *policy = reader->policy;
	const struct need *first = NULL;

	/* With a list, also what the policy says that this one extends. */
	policy->network_given = has_key(reader, "network") ||
				(policy->network_given && policy->candidates_count > 1);
	for (size_t i = 0; i < policy->candidates_count; i++) {
		struct policy_candidate *one = &policy->candidates[i];
		const struct need *need = find_need(policy, one->provider);
		if (need && (need->always || policy->candidates_count == 1)) {
			return refuse(reader, one->provider, need);
		}
		one->lack = need ? need->lack : NULL;
		first = first ? first : need;
	}
	return settle(policy) || !first ? 0 : refuse(reader, policy->candidates[0].provider, first);
}

/* --- the ceiling ------------------------------------------------------------------------------ */

static int refuse_all(struct policy_reader *reader, const struct policy *operators)
{
	char wanted[256], allowed[256];

	json_doc_error(reader->doc, "provider", BRIG_E_POLICY, reader->err,
		       "the ceiling allows no provider that the policy can use (%s)",
		       policy_candidates_list(reader->policy, wanted, sizeof(wanted)));
	policy_candidates_list(operators, allowed, sizeof(allowed));
	error_remedy(reader->err, "use a policy with one of these providers: %s",
		     allowed[0] ? allowed : providers[0]->name);
	return -EPERM;
}

int policy_restrict_providers(struct policy_reader *reader, const struct policy *operators)
{
	struct policy *policy = reader->policy;
	bool list = policy->candidates_count > 1;

	for (size_t i = 0; i < policy->candidates_count; i++) {
		struct policy_candidate *one = &policy->candidates[i];
		/* The ceiling may need more than the policy did. One name: the run is refused. */
		const struct need *need = list ? find_need(policy, one->provider) : NULL;
		one->lack = one->lack ? one->lack : need ? need->lack : NULL;
		if (operators->candidates_count &&
		    !policy_candidate(operators, one->provider->name)) {
			one->lack = NOT_IN_CEILING;
		}
	}
	return settle(policy) ? 0 : refuse_all(reader, operators);
}
