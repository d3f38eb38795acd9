/* SPDX-License-Identifier: Apache-2.0 */
/* Contradictions: two sentences of a policy that cannot both hold are an error, not a guess. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "policy/reader.h"

/* Without these there is no cell at all, whatever a policy says. */
#define ESSENTIAL                                                                                  \
	(LAYER_BIT(LAYER_USERNS) | LAYER_BIT(LAYER_IPCNS) | LAYER_BIT(LAYER_UTSNS) |               \
	 LAYER_BIT(LAYER_PROC) | LAYER_BIT(LAYER_PIDNS) | LAYER_BIT(LAYER_MNTNS) |                 \
	 LAYER_BIT(LAYER_NETNS) | LAYER_BIT(LAYER_ROOTFS) | LAYER_BIT(LAYER_CAPS) |                \
	 LAYER_BIT(LAYER_NNP) | LAYER_BIT(LAYER_SECCOMP))

static bool has_key(const struct reader *reader, const char *section, const char *key)
{
	json_t *object = json_object_get(reader->doc->root, section);

	return key ? json_object_get(object, key) != NULL : object != NULL;
}

static int check_ceiling(struct reader *reader)
{
	struct policy *policy = reader->policy;

	for (size_t i = 0; i < limit_table_count; i++) {
		const struct limit_info *info = &limit_table[i];
		uint64_t limit = *limit_of(&policy->limits, info);
		uint64_t ceiling = *limit_of(&policy->ceiling, info);
		char path[READER_PATH_MAX], low[40], high[40];

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

static int contradiction(struct reader *reader, const char *path, const char *message,
			 const char *remedy)
{
	json_doc_error(reader->doc, path, BRIG_E_POLICY, reader->err, "%s", message);
	error_remedy(reader->err, "%s", remedy);
	return -EINVAL;
}

static int check_local(struct reader *reader)
{
	if (reader->policy->auto_run == AUTO_RUN_YES) {
		return contradiction(
			reader, has_key(reader, "auto_run", NULL) ? "auto_run" : "provider",
			"provider local has no walls: it never runs without a person's consent",
			"set auto_run to \"ask\" or \"never\", or provider to \"native\"");
	}
	if (reader->policy->guard.mode != GUARD_OFF) {
		return contradiction(reader, has_key(reader, "guard", NULL) ? "guard" : "provider",
				     "provider local has no cell that a guard could work in",
				     "set guard to \"off\", or provider to \"native\"");
	}
	if (reader->policy->syscalls.count > 0) {
		return contradiction(reader,
				     has_key(reader, "syscalls", NULL) ? "syscalls" : "provider",
				     "provider local filters no system call",
				     "set syscalls to [], or provider to \"native\"");
	}
	if (has_key(reader, "network", NULL) || reader->policy->network.allow_count > 0) {
		return contradiction(reader,
				     has_key(reader, "network", NULL) ? "network" : "provider",
				     "provider local does not hold the network back",
				     "leave network out, or set provider to \"native\"");
	}
	if (reader->policy->monitor.calls.count + reader->policy->monitor.files.count > 0) {
		return contradiction(reader,
				     has_key(reader, "monitor", NULL) ? "monitor" : "provider",
				     "provider local sees no system call",
				     "leave monitor.calls and monitor.files out, or set provider "
				     "to \"native\"");
	}
	return 0;
}

/* One thing by two names: whoever says it twice may not mean the same. */
static int check_monitor(struct reader *reader)
{
	json_t *monitor = json_object_get(reader->doc->root, "monitor");
	json_t *ends = json_object_get(monitor, "end_after");

	if (!has_key(reader, "denials_max", NULL) || !json_object_get(ends, "denied_calls")) {
		return 0;
	}
	return contradiction(reader, "denials_max",
			     "the same as monitor.end_after.denied_calls, which is there too",
			     "keep one of the two");
}

static int check_native(struct reader *reader)
{
	layer_set wrong = reader->policy->may_miss & ESSENTIAL;

	if (reader->policy->syscalls.count == 0) {
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
		error_remedy(reader->err, "take it from the list");
		return -EINVAL;
	}
	return 0;
}

/* A program that can write where policies are read from writes its own. */
static int check_mounts(struct reader *reader, const char *config_dir)
{
	for (size_t i = 0; config_dir && i < reader->policy->mounts_count; i++) {
		const struct policy_mount *mount = &reader->policy->mounts[i];
		char path[READER_PATH_MAX];

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

int policy_check(struct reader *reader, const char *config_dir)
{
	int r = check_ceiling(reader);

	if (r == 0) {
		r = reader->policy->provider == PROVIDER_LOCAL ? check_local(reader)
							       : check_native(reader);
	}
	if (r == 0) {
		r = check_monitor(reader);
	}
	if (r == 0) {
		r = policy_check_modules(reader);
	}
	return r < 0 ? r : check_mounts(reader, config_dir);
}
