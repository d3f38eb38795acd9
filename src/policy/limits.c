/* SPDX-License-Identifier: Apache-2.0 */
/* How a policy and a request set limits. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "policy/policy_reader.h"

#define MS UINT64_C(1000000)

static int unknown_limit(struct policy_reader *reader, const char *path, const char *key)
{
	const char *names[LIMITS_COUNT];

	for (size_t i = 0; i < LIMITS_COUNT; i++) {
		names[i] = limit_table[i].key;
	}
	return reader_unknown(reader, path, "limit", key, names, LIMITS_COUNT);
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
		const struct limit_info *end = limit_table + LIMITS_COUNT;

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

	for (size_t i = 0; wanted && i < LIMITS_COUNT; i++) {
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

	for (size_t i = 0; i < LIMITS_COUNT; i++) {
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

	for (size_t i = 0; r == 0 && i < LIMITS_COUNT; i++) {
		const struct limit_info *info = &limit_table[i];
		uint64_t bound = *limit_of(&bounds, info);

		if (bound && *limit_of(&asked, info) == 0 && *limit_of(ret, info) > bound) {
			*limit_of(ret, info) = bound;
		}
	}
	return r;
}
