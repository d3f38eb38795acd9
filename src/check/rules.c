/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the rules of a run: see rules.h. One function for each section of a policy. */
#include "check/rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "check/internal.h"
#include "native/plan/step_members.h"

struct finder {
	const struct prepared *p;
	const struct plan *plan;
	struct check view; /* only for its trace: borrowed */
	struct run_rules *rules;
	struct run_rule lost;
};

void run_rules_done(struct run_rules *rules)
{
	free(rules->items);
	*rules = (struct run_rules){ 0 };
}

/* A new row; without memory one that is discarded. */
static struct run_rule *add(struct finder *finder, const char *section, const char *key)
{
	struct run_rules *rules = finder->rules;

	if (rules->count == rules->room) {
		size_t room = rules->room ? rules->room * 2 : 64;
		struct run_rule *items = realloc(rules->items, room * sizeof(*items));
		if (!items) {
			rules->failed = true;
			return &finder->lost;
		}
		rules->items = items;
		rules->room = room;
	}
	struct run_rule *rule = &rules->items[rules->count++];
	*rule = (struct run_rule){ 0 };
	snprintf(rule->name, sizeof(rule->name), "%s%s%s", section, key ? "." : "", key ? key : "");
	return rule;
}

static const char *name_of(const struct step *step)
{
	return step->kind == STEP_RLIMIT ? step->rlimit.name : step_path(step);
}

/* Steps of a kind; `name` (may be NULL), a limit or a path, selects among them. */
static void add_steps(const struct finder *finder, struct run_rule *rule, enum step_kind kind,
		      const char *name)
{
	for (unsigned i = 0; i < finder->plan->count; i++) {
		const struct step *step = &finder->plan->steps[i];
		bool meant = step->kind == kind && (!name || strcmp(name_of(step), name) == 0);
		if (meant && rule->steps_count < RULE_STEPS_MAX) {
			rule->steps[rule->steps_count++] = i + 1;
		}
	}
}

/* --- limits -------------------------------------------------------------------------------- */

/* The steps that enforce a limit; other limits are watched from outside. */
static const struct {
	const char *limit;
	enum step_kind kind;
	const char *name;
} holders[] = {
	{ "cpu_time", STEP_RLIMIT, "cpu" },
	{ "cpu", STEP_CGROUP, NULL },
	{ "memory", STEP_CGROUP, NULL },
	{ "memory", STEP_RLIMIT, "data" },
	{ "processes", STEP_CGROUP, NULL },
	{ "processes", STEP_RLIMIT, "nproc" },
	{ "disk", STEP_ROOT, NULL },
	{ "inodes", STEP_ROOT, NULL },
	{ "open_files", STEP_RLIMIT, "nofile" },
	{ "file_size", STEP_RLIMIT, "fsize" },
};

static void find_limits(struct finder *finder)
{
	struct brig_limits held = finder->p->spec.limits, usual = finder->p->policy->limits;
	struct brig_limits most = finder->p->policy->ceiling;

	for (size_t i = 0; i < LIMITS_COUNT; i++) {
		const struct limit_info *info = &limit_table[i];
		uint64_t value = *limit_of(&held, info);
		struct run_rule *rule = add(finder, "limits", info->key);

		rule->asked = value != *limit_of(&usual, info);
		check_origin_limit(&finder->view, rule->asked ? "ceiling" : "limits", info,
				   rule->asked ? *limit_of(&most, info) : value, &rule->origin);
		unit_format(info->unit, value, rule->value, sizeof(rule->value));
		for (size_t k = 0; k < ARRAY_SIZE(holders); k++) {
			if (strcmp(holders[k].limit, info->key) == 0) {
				add_steps(finder, rule, holders[k].kind, holders[k].name);
			}
		}
	}
}

/* --- files --------------------------------------------------------------------------------- */

static void find_mounts(struct finder *finder)
{
	const struct policy *policy = finder->p->policy;

	for (size_t i = 0; i < finder->p->mounts_count; i++) {
		const struct spec_mount *mount = &finder->p->mounts[i];
		size_t at = 0;
		char path[80];

		/* By the directory: a request may mount it under another name. */
		while (at < policy->mounts_count &&
		       strcmp(policy->mounts[at].path, mount->path) != 0) {
			at++;
		}
		bool listed = at < policy->mounts_count;
		struct run_rule *rule = add(finder, listed ? "mounts" : "caller_mounts", NULL);
		if (listed) {
			policy_trace_item(&finder->view.trace, "mounts", NULL, at, &rule->origin);
		} else {
			policy_trace_key(&finder->view.trace, "caller_mounts", NULL, &rule->origin);
		}
		rule->asked = true;
		snprintf(rule->value, sizeof(rule->value), "/mnt/%s = %.256s %s", mount->name,
			 mount->path, mount->writable ? "rw" : "ro");
		snprintf(path, sizeof(path), "mnt/%s", mount->name);
		add_steps(finder, rule, STEP_MOUNT, path);
	}
	struct run_rule *rule = add(finder, "exec_writable", NULL);
	policy_trace_key(&finder->view.trace, "exec_writable", NULL, &rule->origin);
	snprintf(rule->value, sizeof(rule->value), "%s", policy->exec_writable ? "true" : "false");
	add_steps(finder, rule, STEP_WRITABLE, "sandbox");
	add_steps(finder, rule, STEP_WRITABLE, "tmp");
}

/* --- network ------------------------------------------------------------------------------- */

static bool trace_network(const struct finder *finder, const char *key, struct origin *ret)
{
	return policy_trace_ceiling(&finder->view.trace, "network", NULL, ret) ||
	       policy_trace_key(&finder->view.trace, "network", key, ret);
}

static void find_network(struct finder *finder)
{
	const struct policy_network *network = &finder->p->policy->network;
	const struct prepared_gate *gate = finder->p->gate;

	for (size_t i = 0; gate && i < gate->rules_count; i++) {
		struct run_rule *rule = add(finder, "network", NULL);
		char text[NET_RULE_TEXT];
		size_t at = 0;

		while (at < network->allow_count &&
		       !net_rule_covers(&network->allow[at], &gate->rules[i])) {
			at++;
		}
		snprintf(rule->name, sizeof(rule->name), "network.%s",
			 at < network->allow_count ? "allow" : "caller");
		if (at < network->allow_count) {
			policy_trace_item(&finder->view.trace, "network", "allow", at,
					  &rule->origin);
		} else {
			rule->asked = true;
			policy_trace_key(&finder->view.trace, "network", "caller", &rule->origin);
		}
		snprintf(rule->value, sizeof(rule->value), "%s",
			 net_rule_format(&gate->rules[i], text));
		add_steps(finder, rule, STEP_ROUTE, NULL);
		add_steps(finder, rule, STEP_LISTEN, NULL);
	}
	if (!gate && provider_can(finder->p->spec.provider, ABILITY_WALLS)) {
		struct run_rule *rule = add(finder, "network", "allow");
		trace_network(finder, "allow", &rule->origin);
		snprintf(rule->value, sizeof(rule->value), "none");
		add_steps(finder, rule, STEP_NETENTER, NULL);
	}
}

/* --- the rest ------------------------------------------------------------------------------ */

static void find_syscalls(struct finder *finder)
{
	const struct strlist *list = &finder->p->policy->syscalls;

	for (size_t i = 0; i < list->count; i++) {
		struct run_rule *rule = add(finder, "syscalls", NULL);
		policy_trace_item(&finder->view.trace, "syscalls", NULL, i, &rule->origin);
		snprintf(rule->value, sizeof(rule->value), "%s", list->items[i]);
		add_steps(finder, rule, STEP_SECCOMP, NULL);
	}
}

static void find_language(struct finder *finder)
{
	const struct strlist *list = &finder->p->policy->runtimes;
	const char *name = finder->p->runtime ? finder->p->runtime->name : "command";
	struct run_rule *rule = add(finder, "runtimes", NULL);
	size_t at = 0;

	while (at < list->count && strcmp(list->items[at], name) != 0) {
		at++;
	}
	if (at < list->count) {
		policy_trace_item(&finder->view.trace, "runtimes", NULL, at, &rule->origin);
	} else {
		policy_trace_key(&finder->view.trace, "runtimes", NULL, &rule->origin);
	}
	rule->asked = true;
	snprintf(rule->value, sizeof(rule->value), "%s", name);
	add_steps(finder, rule, STEP_EXEC, NULL);
}

static void find_guard(struct finder *finder)
{
	const struct policy_guard *guard = &finder->p->policy->guard;
	enum guard_mode mode = finder->p->guard.mode;
	struct run_rule *rule = add(finder, "guard", "mode");

	rule->asked = mode != guard->mode;
	check_origin_word(&finder->view, "guard", "mode", guard_mode_names[guard->mode],
			  &rule->origin);
	snprintf(rule->value, sizeof(rule->value), "%s", guard_mode_names[mode]);
	for (size_t i = 0; mode != GUARD_OFF && i < guard->modules.count; i++) {
		rule = add(finder, "guard", "allowed_modules");
		policy_trace_item(&finder->view.trace, "guard", "allowed_modules", i,
				  &rule->origin);
		snprintf(rule->value, sizeof(rule->value), "%s", guard->modules.items[i]);
	}
}

static void find_consent(struct finder *finder)
{
	static const char *const words[] = {
		[AUTO_RUN_YES] = "yes",
		[AUTO_RUN_ASK] = "ask",
		[AUTO_RUN_NEVER] = "never",
	};
	const struct policy *policy = finder->p->policy;
	struct run_rule *rule = add(finder, "auto_run", NULL);

	check_origin_word(&finder->view, "auto_run", NULL, words[policy->auto_run], &rule->origin);
	snprintf(rule->value, sizeof(rule->value), "%s", words[policy->auto_run]);
}

/* Layers that this cell lacks, and the key that permits it. */
static void find_missing(struct finder *finder)
{
	const struct spec *spec = &finder->p->spec;

	for (int i = 0; provider_can(spec->provider, ABILITY_WALLS) && i < LAYER_COUNT; i++) {
		if ((spec->layers & LAYER_BIT(i)) ||
		    !(finder->p->policy->may_miss & LAYER_BIT(i))) {
			continue;
		}
		struct run_rule *rule = add(finder, "may_miss", NULL);
		policy_trace_key(&finder->view.trace, "may_miss", NULL, &rule->origin);
		snprintf(rule->value, sizeof(rule->value), "%s", layer_table[i].name);
	}
}

void run_rules_find(const struct prepared *p, const struct policy_trace *trace,
		    struct run_rules *ret)
{
	struct brig_error unused = { 0 };
	struct plan plan = { 0 };
	struct finder finder = {
		.p = p,
		.plan = &plan,
		.view = { .policy = p->policy, .trace = *trace },
		.rules = ret,
	};

	*ret = (struct run_rules){ 0 };
	if (provider_can(p->spec.provider, ABILITY_PLAN)) {
		ret->failed = plan_make(&p->spec, &plan, &unused) < 0;
	}
	find_language(&finder);
	find_consent(&finder);
	find_guard(&finder);
	find_limits(&finder);
	find_mounts(&finder);
	find_network(&finder);
	find_syscalls(&finder);
	find_missing(&finder);
	plan_done(&plan);
}
