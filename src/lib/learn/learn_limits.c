/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of a proposal: the used amounts with a margin, never more than the run had. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "lib/learn/learn.h"

#define SECOND UINT64_C(1000000000)
#define KIB    UINT64_C(1024)
#define MIB    (KIB * KIB)

/* used * by, in whole steps, and at least `least`. */
struct margin {
	const char *key;
	unsigned by_percent; /* 0: as the run had it */
	uint64_t step, least;
	const char *about;
};

static const struct margin margins[] = {
	{ "wall", 400, SECOND, SECOND, "four times (watched, it was slower), whole seconds" },
	{ "cpu_time", 300, SECOND, SECOND, "three times, whole seconds" },
	{ "cpu", 0, 0, 0, NULL },
	{ "memory", 150, MIB, 32 * MIB, "half as much again, at least 32M" },
	{ "processes", 200, 1, 1, "twice" },
	{ "disk", 200, MIB, MIB, "twice, at least 1M" },
	{ "inodes", 0, 0, 0, NULL },
	{ "open_files", 0, 0, 0, NULL },
	{ "file_size", 200, MIB, MIB, "as the disk" },
	{ "stdout", 400, KIB, 64 * KIB, "four times, at least 64K" },
	{ "stderr", 400, KIB, 64 * KIB, "four times, at least 64K" },
	{ "net", 200, KIB, 64 * KIB, "twice, at least 64K" },
};

static uint64_t used_of(const struct learn *learn, const char *key)
{
	/* Sampling from outside can miss short-lived processes. */
	uint64_t seen = learn->children < 8 ? learn->children + 1 : 8;
	const struct {
		const char *key;
		uint64_t value;
	} used[] = {
		{ "wall", learn->peak.wall_ns },
		{ "cpu_time", learn->peak.cpu_ns },
		{ "memory", learn->peak.memory_peak_bytes },
		{ "processes",
		  learn->peak.processes_peak > seen ? learn->peak.processes_peak : seen },
		{ "disk", learn->peak.disk_bytes },
		{ "file_size", learn->peak.disk_bytes },
		{ "stdout", learn->stdout_bytes },
		{ "stderr", learn->stderr_bytes },
		{ "net", learn->peak.net_bytes },
	};

	for (size_t i = 0; i < ARRAY_SIZE(used); i++) {
		if (strcmp(used[i].key, key) == 0) {
			return used[i].value;
		}
	}
	return 0;
}

static const struct margin *margin_of(const char *key)
{
	for (size_t i = 0; i < ARRAY_SIZE(margins); i++) {
		if (strcmp(margins[i].key, key) == 0) {
			return &margins[i];
		}
	}
	return NULL;
}

static uint64_t floor_of(const struct learn_origin *origin, const char *key)
{
	if (strcmp(key, "memory") == 0) {
		return origin->least_memory_bytes;
	}
	return strcmp(key, "processes") == 0 ? origin->least_processes : 0;
}

static uint64_t limit_for(const struct learn *learn, const struct learn_origin *origin,
			  const struct limit_info *info, uint64_t had)
{
	const struct margin *margin = margin_of(info->key);
	uint64_t value = had;

	if (margin && margin->by_percent) {
		uint64_t steps = used_of(learn, info->key) / 100 * margin->by_percent;
		steps += used_of(learn, info->key) % 100 * margin->by_percent / 100;
		value = (steps + margin->step - 1) / margin->step * margin->step;
		value = value < margin->least ? margin->least : value;
		uint64_t floor = floor_of(origin, info->key);
		value = value < floor ? floor : value;
	}
	if (strcmp(info->key, "net") == 0 && !origin->result->networked) {
		value = 0;
	}
	value = value > had ? had : value;
	if (origin->extended) {
		struct brig_limits earlier = origin->extended->limits;
		uint64_t kept = *limit_of(&earlier, info);
		value = value < kept ? kept : value;
	}
	return value < info->least ? info->least : value;
}

/* Exact, unlike the values that are printed for people. */
static void print_value(struct buf *out, enum unit unit, uint64_t value)
{
	if (unit == UNIT_TIME && value % SECOND == 0) {
		buf_addf(out, "\"%" PRIu64 "s\"", value / SECOND);
	} else if (unit == UNIT_TIME) {
		buf_addf(out, "\"%" PRIu64 "ms\"", (value + 999999) / 1000000);
	} else if (unit == UNIT_BYTES && value && value % MIB == 0) {
		buf_addf(out, "\"%" PRIu64 "M\"", value / MIB);
	} else if (unit == UNIT_BYTES && value && value % KIB == 0) {
		buf_addf(out, "\"%" PRIu64 "K\"", value / KIB);
	} else if (unit == UNIT_MILLICORES) {
		buf_addf(out, "%" PRIu64 ".%03" PRIu64, value / 1000, value % 1000);
	} else {
		buf_addf(out, "%" PRIu64, value);
	}
}

static void print_limit(const struct learn *learn, const struct limit_info *info, uint64_t value,
			bool last, struct buf *out)
{
	const struct margin *margin = margin_of(info->key);
	char used[40];

	buf_addf(out, "\t\t\"%s\": ", info->key);
	print_value(out, info->unit, value);
	buf_adds(out, last ? " // " : ", // ");
	if (margin && margin->by_percent) {
		buf_addf(out, "%s used; %s\n",
			 unit_format(info->unit, used_of(learn, info->key), used, sizeof(used)),
			 margin->about);
	} else {
		buf_adds(out, "as the run had it\n");
	}
}

void learn_print_limits(const struct learn *learn, const struct learn_origin *origin,
			struct buf *out)
{
	struct brig_limits had = origin->result->limits;

	buf_adds(out, "\t\"limits\": {\n");
	for (size_t i = 0; i < LIMITS_COUNT; i++) {
		const struct limit_info *info = &limit_table[i];
		uint64_t value = limit_for(learn, origin, info, *limit_of(&had, info));

		print_limit(learn, info, value, i + 1 == LIMITS_COUNT, out);
	}
	buf_adds(out, "\t},\n");
	if (!origin->compiled) {
		return;
	}
	had = origin->under->compile_limits;
	buf_adds(out, "\t// A compiler runs in a cell of its own, with the calls below; its limits "
		      "are\n\t// those of the policy that this was learned under.\n"
		      "\t\"compile\": { \"limits\": {\n");
	for (size_t i = 0; i < LIMITS_COUNT; i++) {
		buf_addf(out, "\t\t\"%s\": ", limit_table[i].key);
		print_value(out, limit_table[i].unit, *limit_of(&had, &limit_table[i]));
		buf_adds(out, i + 1 < LIMITS_COUNT ? ",\n" : "\n");
	}
	buf_adds(out, "\t} },\n");
}
