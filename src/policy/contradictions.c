/* SPDX-License-Identifier: Apache-2.0 */
/* Contradictions: two settings of a policy that cannot both apply are an error, not a guess. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/files/path.h"
#include "policy/policy_reader.h"

/* No cell of a provider that has these can be built without them, whatever a policy sets. */
#define ESSENTIAL                                                                                  \
	(LAYER_BIT(LAYER_USERNS) | LAYER_BIT(LAYER_IPCNS) | LAYER_BIT(LAYER_UTSNS) |               \
	 LAYER_BIT(LAYER_PROC) | LAYER_BIT(LAYER_PIDNS) | LAYER_BIT(LAYER_MNTNS) |                 \
	 LAYER_BIT(LAYER_NETNS) | LAYER_BIT(LAYER_ROOTFS) | LAYER_BIT(LAYER_CAPS) |                \
	 LAYER_BIT(LAYER_NNP) | LAYER_BIT(LAYER_SECCOMP))

layer_set policy_may_miss(const struct policy *policy, const struct provider *provider)
{
	return policy->may_miss & ~(ESSENTIAL & provider->layers);
}

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

static int needs_calls(struct policy_reader *reader)
{
	return contradiction(reader, has_key(reader, "syscalls", NULL) ? "syscalls" : "",
			     "a cell needs a list of system calls",
			     "add \"extends\": \"default\", or syscalls such as "
			     "[\"@basic\", \"@file\", \"@process\", \"@thread\", \"@dangerous\"]");
}

/* Settings and layers that a cell with walls needs. */
static int check_walls(struct policy_reader *reader)
{
	const struct policy *policy = reader->policy;
	layer_set wrong = policy->may_miss & ESSENTIAL;
	bool walls = false;

	for (size_t i = 0; i < policy->candidates_count; i++) {
		const struct provider *provider = policy->candidates[i].provider;
		if (!provider_can(provider, ABILITY_WALLS)) {
			continue;
		}
		walls = true;
		/* One that never has a layer can be allowed to lack it. */
		wrong &= provider->layers;
		if (provider_can(provider, ABILITY_CALL_RULES) && policy->syscalls.count == 0) {
			return needs_calls(reader);
		}
	}
	if (walls && wrong) {
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
	static int (*const checks[])(struct policy_reader * reader) = {
		check_ceiling, policy_weigh,         check_walls,
		check_monitor, policy_check_modules, policy_check_venv,
	};

	for (size_t i = 0; i < ARRAY_SIZE(checks); i++) {
		int r = checks[i](reader);
		if (r < 0) {
			return r;
		}
	}
	return check_mounts(reader, config_dir);
}
