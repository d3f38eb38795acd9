/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of a provider: see choice.h. */
#include "lib/prepare/choice.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

/* In a message that names several providers: the reason of each. */
#define WHY_MAX 200

/* --- what a request needs --------------------------------------------------------------------- */

static bool wants_session(const struct choice *choice)
{
	return choice->purpose == PURPOSE_SESSION;
}

static bool wants_terminal(const struct choice *choice)
{
	return choice->request->terminal;
}

static bool wants_mounts(const struct choice *choice)
{
	return choice->request->mounts_count > 0;
}

static bool wants_network(const struct choice *choice)
{
	return choice->request->network && choice->request->network[0];
}

static bool wants_guard(const struct choice *choice)
{
	const char *guard = choice->request->guard;

	return choice->request->check || (guard && strcmp(guard, "off") != 0);
}

static bool wants_venv(const struct choice *choice)
{
	return choice->request->venv != NULL;
}

static bool wants_count(const struct choice *choice)
{
	uint64_t asked = choice->request->limits.instructions;

	return asked && asked < LIMIT_INSTRUCTIONS_NONE;
}

/* A list is tried for these too; for one name, the part that needs the ability refuses the run. */
static const struct {
	enum ability ability;
	bool (*wanted)(const struct choice *choice);
	const char *lack;
} needs[] = {
	{ ABILITY_SESSIONS, wants_session, "has no sessions" },
	{ ABILITY_TERMINAL, wants_terminal, "has no terminal" },
	{ ABILITY_MOUNTS, wants_mounts, "has no mounts" },
	{ ABILITY_NETWORK, wants_network, "has no network" },
	{ ABILITY_VALUE, wants_guard, "has no guard" },
	{ ABILITY_VENV, wants_venv, "has no virtualenvs" },
	{ ABILITY_INSTRUCTIONS, wants_count, "cannot count instructions" },
};

/* A run that is watched to learn from it teaches nothing where calls cannot be watched. */
static bool cannot_teach(const struct brig_context *context, const struct provider *provider)
{
	return context->watch && !provider_can(provider, ABILITY_CALL_WATCH);
}

static const char *lack_for_request(const struct brig_context *context, const struct choice *choice,
				    const struct provider *provider)
{
	if (cannot_teach(context, provider)) {
		return "cannot watch system calls";
	}
	for (size_t i = 0; i < ARRAY_SIZE(needs); i++) {
		if (!provider_can(provider, needs[i].ability) && needs[i].wanted(choice)) {
			return needs[i].lack;
		}
	}
	return NULL;
}

/* --- candidates ------------------------------------------------------------------------------- */

static int lacks_layer(layer_set may_miss, layer_set missing, const char *subject,
		       char why[WHY_MAX])
{
	for (int layer = 0; layer < LAYER_COUNT; layer++) {
		if (missing & ~may_miss & LAYER_BIT(layer)) {
			snprintf(why, WHY_MAX, "%s the layer %s, which the policy wants", subject,
				 layer_table[layer].name);
			return -ENOTSUP;
		}
	}
	return 0;
}

/* 0: it can be used now. -ENOTSUP: `why` has the reason. */
static int try_one(struct brig_context *context, const struct choice *choice,
		   const struct policy_candidate *one, char why[WHY_MAX])
{
	const struct policy *policy = choice->policy;
	const char *lack = one->lack ? one->lack : lack_for_request(context, choice, one->provider);
	struct spec spec = { .provider = one->provider,
			     .oci_runtime = policy->oci_runtime,
			     .gvisor_runtime = policy->gvisor_runtime,
			     .gvisor_platform = policy->gvisor_platform,
			     .launcher = &policy->launcher,
			     .wasm_engine = policy->wasm_engine,

			     .vm = &policy->vm,
			     .docker = &policy->docker,
			     .podman = &policy->podman,
			     .cache_dir = context->cache_dir };
	const struct choice_finding *finding = NULL;

	if (lack) {
		snprintf(why, WHY_MAX, "%s", lack);
		return -ENOTSUP;
	}
	/* Without trying: what it never has on this host. */
	layer_set missing = one->provider->resolve(context->groups, &spec);
	const layer_set may_miss = policy_may_miss(policy, one->provider);
	int r = lacks_layer(may_miss, missing, "lacks", why);
	r = r < 0 ? r : choice_find(context, &spec, &finding);
	if (r < 0) {
		return r;
	}
	if (finding->found.state == PROBE_MISSING) {
		snprintf(why, WHY_MAX, "%.*s", WHY_MAX - 1,
			 finding->found.detail[0] ? finding->found.detail : "does not work here");
		return -ENOTSUP;
	}
	return lacks_layer(may_miss, finding->lost & spec.layers, "this host lacks", why);
}

static int choose_first(struct brig_context *context, const struct choice *choice,
			const struct provider **ret, struct brig_error *err)
{
	const struct policy *policy = choice->policy;
	char all[400] = "";
	size_t used = 0;

	for (size_t i = 0; i < policy->candidates_count; i++) {
		const struct policy_candidate *one = &policy->candidates[i];
		size_t room = (sizeof(all) - used) / (policy->candidates_count - i);
		char why[WHY_MAX] = "";
		int r = try_one(context, choice, one, why);
		if (r == 0) {
			*ret = one->provider;
			return 0;
		}
		if (r != -ENOTSUP) {
			return error_errno(err, BRIG_E_SYSTEM, -r, "cannot choose a provider");
		}
		/* Each has its part of the message, however long the others' are. */
		int size = snprintf(all + used, room, "%s%s: %s", i ? "; " : "",
				    one->provider->name, why);
		used += (size_t)size < room ? (size_t)size : room - 1;
	}
	int r = error_set(err, BRIG_E_HOST, ENOTSUP, "no provider of policy %s can be used: %s",
			  policy->name, all);
	error_remedy(err, "brig providers shows the repair of each; or use another policy");
	return r;
}

static int choose_named(const struct policy *policy, const char *name, const struct provider **ret,
			struct brig_error *err)
{
	const struct policy_candidate *one = policy_candidate(policy, name);
	char list[256];

	if (one && !one->lack) {
		*ret = one->provider;
		return 0;
	}
	policy_candidates_list(policy, list, sizeof(list));
	if (one) {
		int r = error_set(err, BRIG_E_POLICY, EACCES,
				  "policy %s cannot use the provider %s: it %s", policy->name,
				  one->provider->name, one->lack);
		error_remedy(err, "leave the provider out, or use another policy");
		return r;
	}
	int r = error_set(err, BRIG_E_POLICY, EACCES, "policy %s does not allow the provider %.32s",
			  policy->name, name);
	error_remedy(err, "it allows: %s", list);
	return r;
}

int choice_make(struct brig_context *context, const struct choice *choice,
		const struct provider **ret, struct brig_error *err)
{
	const struct policy *policy = choice->policy;

	if (!choice->request->provider && policy->candidates_count > 1) {
		return choose_first(context, choice, ret, err);
	}
	/* Of one there is nothing to choose: its own errors are the better ones. */
	*ret = policy->provider;
	int r = choice->request->provider
			? choose_named(policy, choice->request->provider, ret, err)
			: 0;
	/* Without any filter, the part that makes the filter refuses to watch. */
	if (r < 0 || !cannot_teach(context, *ret) || !provider_can(*ret, ABILITY_CALL_RULES)) {
		return r;
	}
	return error_set(err, BRIG_E_POLICY, ENOTSUP,
			 "provider %s cannot watch system calls, so nothing can be learned",
			 (*ret)->name);
}
