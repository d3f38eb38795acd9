/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all limits; and how a policy and a request set them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/policy_reader.h"

#define MS  UINT64_C(1000000)
#define SEC (1000 * MS)
#define DAY (86400 * SEC)
#define KIB UINT64_C(1024)
#define MIB (1024 * KIB)
#define TIB (1024 * 1024 * MIB)

#define AT(field) offsetof(struct brig_limits, field)

const struct limit_info limit_table[] = {
	{ "wall", "wall_ms", "--timeout", UNIT_TIME, AT(wall_ns), 1 * MS, 7 * DAY, 30 * SEC,
	  "wall-clock time" },
	{ "cpu_time", "cpu_ms", "--cpu-time", UNIT_TIME, AT(cpu_ns), 1 * MS, 7 * DAY, 30 * SEC,
	  "CPU time of all processes together" },
	{ "cpu", "cpu_millicores", "--cpu", UNIT_MILLICORES, AT(cpu_millicores), 10, 1024000, 1000,
	  "share of the CPUs; 1 is one whole core" },
	{ "memory", "memory_bytes", "--memory", UNIT_BYTES, AT(memory_bytes), 1 * MIB, 64 * TIB,
	  256 * MIB, "memory of all processes, including files in memory" },
	{ "processes", "processes", "--processes", UNIT_COUNT, AT(processes), 1, 32768, 64,
	  "processes and threads together" },
	{ "disk", "disk_bytes", "--disk", UNIT_BYTES, AT(disk_bytes), 4 * KIB, 64 * TIB, 64 * MIB,
	  "all writable directories together" },
	{ "inodes", "disk_inodes", "--inodes", UNIT_COUNT, AT(disk_inodes), 16, 16777216, 4096,
	  "files and directories" },
	{ "open_files", "open_files", "--open-files", UNIT_COUNT, AT(open_files), 8, 1048576, 256,
	  "open files of one process" },
	{ "file_size", "file_bytes", "--file-size", UNIT_BYTES, AT(file_bytes), 1, 64 * TIB,
	  64 * MIB, "the largest single file" },
	{ "stdout", "stdout_bytes", "--stdout", UNIT_BYTES, AT(stdout_bytes), 1, 16 * 1024 * MIB,
	  1 * MIB, "standard output to keep" },
	{ "stderr", "stderr_bytes", "--stderr", UNIT_BYTES, AT(stderr_bytes), 1, 16 * 1024 * MIB,
	  1 * MIB, "standard error to keep" },
	{ "net", "net_bytes", "--net-bytes", UNIT_BYTES, AT(net_bytes), 0, 64 * TIB, 64 * MIB,
	  "bytes to and from the network" },
	{ "grace", "grace_ms", "--grace", UNIT_TIME, AT(grace_ns), 0, 60 * SEC, 0,
	  "time between SIGTERM and SIGKILL after a timeout" },
};
const size_t limit_table_count = ARRAY_SIZE(limit_table);

static int unknown_limit(struct policy_reader *reader, const char *path, const char *key)
{
	const char *names[ARRAY_SIZE(limit_table)];

	for (size_t i = 0; i < ARRAY_SIZE(limit_table); i++) {
		names[i] = limit_table[i].key;
	}
	return reader_unknown(reader, path, "limit", key, names, ARRAY_SIZE(limit_table));
}

int read_limits(struct policy_reader *reader, const char *path, json_t *value,
		struct brig_limits *ret)
{
	const char *key;
	json_t *item;
	int r = read_is_object(reader, path, value);

	if (r < 0) {
		return r;
	}
	json_object_foreach(value, key, item)
	{
		char below[POLICY_PATH_MAX];
		const struct limit_info *info = limit_table;
		const struct limit_info *end = limit_table + limit_table_count;

		reader_path(below, path, key);
		while (info < end && strcmp(info->key, key) != 0) {
			info++;
		}
		if (info == end) {
			return unknown_limit(reader, below, key);
		}
		r = read_quantity(reader, below, item, info->unit, info->least, info->most,
				  limit_of(ret, info));
		if (r < 0) {
			return r;
		}
	}
	return 0;
}

/* The names of the limit on the command line and in requests. */
static void limit_names(const struct limit_info *info, char *text, size_t size)
{
	bool wall = strcmp(info->key, "wall") == 0;

	snprintf(text, size, "(%s, %s%s)", info->option, wall ? "" : "limits.",
		 wall ? "timeout_ms" : info->name);
}

static int below_least(const struct policy *policy, const struct limit_info *info, uint64_t ceiling,
		       struct brig_error *err)
{
	char names[96], least[40], most[40];

	limit_names(info, names, sizeof(names));
	unit_format(info->unit, info->least, least, sizeof(least));
	unit_format(info->unit, ceiling, most, sizeof(most));
	error_set(err, BRIG_E_INPUT, ERANGE, "%s %s is out of range: policy %s allows %s to %s",
		  info->key, names, policy->name, least, most);
	error_remedy(err, "use a value from %s to %s", least, most);
	return -ERANGE;
}

static int above_ceiling(const struct policy *policy, const struct limit_info *info,
			 uint64_t wanted, uint64_t ceiling, struct brig_error *err)
{
	char names[96], asked[40], most[40];

	limit_names(info, names, sizeof(names));
	unit_format(info->unit, wanted, asked, sizeof(asked));
	unit_format(info->unit, ceiling, most, sizeof(most));
	error_set(err, BRIG_E_POLICY, ERANGE, "%s %s %s is above the ceiling of %s in policy %s",
		  info->key, asked, names, most, policy->name);
	error_remedy(err, "use at most %s, or let the operator raise ceiling.%s of the policy",
		     most, info->key);
	return -ERANGE;
}

/*
 * A request with a longer wall-clock time wants the program to work for that long: CPU time that it
 * does not set grows in the same proportion, up to its ceiling.
 */
static void cpu_follows_wall(const struct policy *policy, const struct brig_limits *wanted,
			     struct brig_limits *limits)
{
	uint64_t scaled;

	if (wanted->cpu_ns != 0 || wanted->wall_ns <= policy->limits.wall_ns) {
		return;
	}
	if (__builtin_mul_overflow(limits->cpu_ns / MS, wanted->wall_ns / MS, &scaled)) {
		scaled = UINT64_MAX;
	} else {
		scaled = scaled / (policy->limits.wall_ns / MS) * MS;
	}
	if (scaled > policy->ceiling.cpu_ns) {
		scaled = policy->ceiling.cpu_ns;
	}
	if (scaled > limits->cpu_ns) {
		limits->cpu_ns = scaled;
	}
}

int policy_limits(const struct policy *policy, const struct brig_limits *wanted,
		  struct brig_limits *ret, struct brig_error *err)
{
	struct brig_limits limits = policy->limits;

	for (size_t i = 0; wanted && i < limit_table_count; i++) {
		const struct limit_info *info = &limit_table[i];
		struct brig_limits asked = *wanted;
		struct brig_limits most = policy->ceiling;
		uint64_t value = *limit_of(&asked, info);
		uint64_t ceiling = *limit_of(&most, info);

		if (value == 0) {
			continue;
		}
		if (value < info->least) {
			return below_least(policy, info, ceiling, err);
		}
		if (value > ceiling) {
			return above_ceiling(policy, info, value, ceiling, err);
		}
		*limit_of(&limits, info) = value;
	}
	if (wanted) {
		cpu_follows_wall(policy, wanted, &limits);
	}
	*ret = limits;
	return 0;
}

void policy_limits_clamp(const struct policy *policy, const struct brig_limits *most,
			 struct brig_limits *limits)
{
	struct brig_limits ceilings = policy->ceiling, bounds = *most;

	for (size_t i = 0; i < limit_table_count; i++) {
		const struct limit_info *info = &limit_table[i];
		uint64_t *value = limit_of(limits, info);
		uint64_t ceiling = *limit_of(&ceilings, info), bound = *limit_of(&bounds, info);

		ceiling = bound && bound < ceiling ? bound : ceiling;
		if (*value > ceiling) {
			*value = ceiling;
		} else if (*value && *value < info->least) {
			*value = info->least;
		}
	}
}

int policy_limits_within(const struct policy *policy, const struct brig_limits *wanted,
			 const struct brig_limits *most, struct brig_limits *ret,
			 struct brig_error *err)
{
	struct brig_limits asked = *wanted, bounds = *most;
	int r = policy_limits(policy, wanted, ret, err);

	for (size_t i = 0; r == 0 && i < limit_table_count; i++) {
		const struct limit_info *info = &limit_table[i];
		uint64_t bound = *limit_of(&bounds, info);

		if (bound && *limit_of(&asked, info) == 0 && *limit_of(ret, info) > bound) {
			*limit_of(ret, info) = bound;
		}
	}
	return r;
}
