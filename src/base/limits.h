/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of all limits: for policies, runtime files, requests, tokens, options, results, the
 * ledger and documentation. A new limit is a member of struct brig_limits and a line here.
 */
#ifndef BRIG_BASE_LIMITS_H
#define BRIG_BASE_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <brig/brig.h>

#include "base/units.h"

/* Every member of struct brig_limits is one: a uint64_t. */
#define LIMITS_COUNT (sizeof(struct brig_limits) / sizeof(uint64_t))

/* Where a limit is set: how early it must be known. */
enum limit_scope {
	LIMIT_OF_RUN,     /* watched from outside: each run in a cell can have another one */
	LIMIT_OF_CELL,    /* of the whole cell: before its first run */
	LIMIT_OF_PROCESS, /* of each process: before the program or its interpreter is started */
};
/*
 * With so many instructions or more they are not counted: a processor does not execute as many
 * within the longest time that a run may have.
 */
#define LIMIT_INSTRUCTIONS_NONE UINT64_C(1000000000000000)

struct limit_info {
	const char *key;    /* in policies and runtime files: "memory" */
	const char *name;   /* in requests and results: "memory_bytes"; "wall_ms" of values in ns */
	const char *option; /* "--memory" */
	enum unit unit;
	size_t offset;  /* in struct brig_limits */
	uint64_t least; /* smallest value that makes sense */
	uint64_t most;
	uint64_t usual; /* the default of a policy */
	const char *about;
	enum limit_scope scope;
	bool of_compiler;   /* a runtime file can set it for the compiler's cell */
	const char *effect; /* of reaching it, where that does not end the run; or NULL */
};
extern const struct limit_info limit_table[LIMITS_COUNT];

/* By the key; NULL: unknown. */
const struct limit_info *limit_find(const char *key);

static inline uint64_t *limit_of(struct brig_limits *limits, const struct limit_info *info)
{
	return (uint64_t *)(void *)((char *)limits + info->offset);
}

static inline uint64_t limit_value(const struct brig_limits *limits, const struct limit_info *info)
{
	return *(const uint64_t *)(const void *)((const char *)limits + info->offset);
}

/* So many of brig's own unit are one of the unit in requests and results. */
static inline uint64_t limit_scale(const struct limit_info *info)
{
	return info->unit == UNIT_TIME ? 1000000 : 1;
}
#endif
