/* SPDX-License-Identifier: Apache-2.0 */
/* Contradictions: two settings of a policy that cannot both apply are an error, not a guess. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "policy/policy_reader.h"

/* No cell can be built without these, whatever a policy sets. */
#define ESSENTIAL                                                                                  \
	(LAYER_BIT(LAYER_USERNS) | LAYER_BIT(LAYER_IPCNS) | LAYER_BIT(LAYER_UTSNS) |               \
	 LAYER_BIT(LAYER_PROC) | LAYER_BIT(LAYER_PIDNS) | LAYER_BIT(LAYER_MNTNS) |                 \
	 LAYER_BIT(LAYER_NETNS) | LAYER_BIT(LAYER_ROOTFS) | LAYER_BIT(LAYER_CAPS) |                \
	 LAYER_BIT(LAYER_NNP) | LAYER_BIT(LAYER_SECCOMP))

static bool has_key(const struct policy_reader *reader, const char *section, const char *key)
{
	json_t *object = json_object_get(reader->doc->root, section);

	return key ? json_object_get(object, key) != NULL : object != NULL;
}

static int check_ceiling(struct policy_reader *reader)
{
	struct policy *policy = reader->policy;

	for (size_t i = 0; i < LIMITS_COUNT; i++) {
		const struct limit_info *info = &limit_table[i];
		uint64_t limit = *limit_of(&policy->limits, info);
		uint64_t ceiling = *limit_of(&policy->ceiling, info);
		char path[POLICY_PATH_MAX], low[40], high[40];

		if (limit <= ceiling) {
			continue;
		}
		reader_path(path, has_key(reader, "limits", info->key) ? "limits" : "ceiling",
			    info->key);
		json_doc_error(reader->doc, path, BRIG_E_POLICY, reader->err,
			       "the limit %s is above the ceiling %s",
			       unit_format(info->unit, limit, high, sizeof(high)),
			       unit_format(info->unit, ceiling, low, sizeof(low)));
		error_remedy(reader->err, "lower limits.%s or raise ceiling.%s", info->key,
			     info->key);
		return -EINVAL;
	}
	return 0;
}

static int contradiction(struct policy_reader *reader, const char *path, const char *message,
			 const char *remedy)
{
	json_doc_error(reader->doc, path, BRIG_E_POLICY, reader->err, "%s", message);
	error_remedy(reader->err, "%s", remedy);
	return -EINVAL;
}

/* --- abilities -------------------------------------------------------------------------------- */

static bool runs_unasked(const struct policy_reader *reader)
{
	return reader->policy->auto_run == AUTO_RUN_YES;
}

static bool guards(const struct policy_reader *reader)
{
	return reader->policy->guard.mode != GUARD_OFF;
}

static bool filters_calls(const struct policy_reader *reader)
{
	return reader->policy->syscalls.count > 0;
}

static bool rules_network(const struct policy_reader *reader)
{
	return has_key(reader, "network", NULL) || reader->policy->network.allow_count > 0;
}

static bool watches_calls(const struct policy_reader *reader)
{
	return reader->policy->monitor.calls.count + reader->policy->monitor.files.count > 0;
}

/* Settings of a policy, the ability that each needs, and the remedy where the provider lacks it. */
static const struct need {
	enum ability ability;
	const char *key;
	bool (*wanted)(const struct policy_reader *reader);
	const char *lack, *repair;
} needs[] = {
	{ ABILITY_WALLS, "auto_run", runs_unasked,
	  "has no walls: it never runs without a person's consent",
	  "set auto_run to \"ask\" or \"never\"" },
	{ ABILITY_VALUE, "guard", guards, "cannot guard code", "set guard to \"off\"" },
	{ ABILITY_CALL_RULES, "syscalls", filters_calls, "does not filter system calls",
	  "set syscalls to []" },
	{ ABILITY_NETWORK, "network", rules_network, "does not restrict the network",
	  "leave network out" },
	{ ABILITY_CALL_WATCH, "monitor", watches_calls, "cannot watch system calls",
	  "leave monitor.calls and monitor.files out" },
};

static int check_abilities(struct policy_reader *reader)
{
	const struct provider *provider = reader->policy->provider;

	for (size_t i = 0; i < ARRAY_SIZE(needs); i++) {
		const struct need *need = &needs[i];
		if (provider_can(provider, need->ability) || !need->wanted(reader)) {
			continue;
		}
		json_doc_error(
			reader->doc, has_key(reader, need->key, NULL) ? need->key : "provider",
			BRIG_E_POLICY, reader->err, "provider %s %s", provider->name, need->lack);
		error_remedy(reader->err, "%s, or provider to \"%s\"", need->repair,
			     providers[0]->name);
		return -EINVAL;
	}
	return 0;
}

/* The same setting under two names: two values could differ. */
static int check_monitor(struct policy_reader *reader)
{
	json_t *monitor = json_object_get(reader->doc->root, "monitor");
	json_t *ends = json_object_get(monitor, "end_after");

	if (!has_key(reader, "denials_max", NULL) || !json_object_get(ends, "denied_calls")) {
		return 0;
	}
	return contradiction(reader, "denials_max",
			     "the same as monitor.end_after.denied_calls, which is also set",
			     "remove one of the two");
}

/* Settings and layers that a cell with walls needs. */
static int check_walls(struct policy_reader *reader)
{
	layer_set wrong = reader->policy->may_miss & ESSENTIAL;

	if (provider_can(reader->policy->provider, ABILITY_CALL_RULES) &&
	    reader->policy->syscalls.count == 0) {
		return contradiction(
			reader, has_key(reader, "syscalls", NULL) ? "syscalls" : "",
			"a native cell needs a list of system calls",
			"add \"extends\": \"default\", or syscalls such as "
			"[\"@basic\", \"@file\", \"@process\", \"@thread\", \"@dangerous\"]");
	}
	if (wrong) {
		char list[256];

		layer_list(wrong, list, sizeof(list));
		json_doc_error(reader->doc, "may_miss", BRIG_E_POLICY, reader->err,
			       "no cell can be built without: %s", list);
		error_remedy(reader->err, "remove it from the list");
		return -EINVAL;
	}
	return 0;
}

/* A program that can write to the directory of policies could write its own policy. */
static int check_mounts(struct policy_reader *reader, const char *config_dir)
{
	for (size_t i = 0; config_dir && i < reader->policy->mounts_count; i++) {
		const struct policy_mount *mount = &reader->policy->mounts[i];
		char path[POLICY_PATH_MAX];

		if (!mount->writable || !path_overlaps(mount->path, config_dir)) {
			continue;
		}
		snprintf(path, sizeof(path), "mounts[%zu].path", i);
		return contradiction(reader, path,
				     "would let programs write to brig's own policies",
				     "set mode to \"ro\", or mount another directory");
	}
	return 0;
}

int policy_check(struct policy_reader *reader, const char *config_dir)
{
	int r = check_ceiling(reader);

	if (r == 0) {
		r = check_abilities(reader);
	}
	if (r == 0 && provider_can(reader->policy->provider, ABILITY_WALLS)) {
		r = check_walls(reader);
	}
	if (r == 0) {
		r = check_monitor(reader);
	}
	if (r == 0) {
		r = policy_check_modules(reader);
	}
	return r < 0 ? r : check_mounts(reader, config_dir);
}
