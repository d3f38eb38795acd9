/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The resource limits of each process of a cell, from the spec: for a plan, and for an assignment.
 */
#ifndef BRIG_RUN_SPEC_RLIMITS_H
#define BRIG_RUN_SPEC_RLIMITS_H

#include "run/spec/spec.h"

struct rlimit_value {
	const char *name;
	int resource;
	uint64_t value;
};

#define RLIMITS_MAX 16

/* The limits of every cell, those that the request decides, or both. Returns how many. Pure. */
enum rlimits_which { RLIMITS_FIXED = 1, RLIMITS_OF_REQUEST = 2, RLIMITS_ALL = 3 };
size_t rlimits_of(const struct spec *spec, enum rlimits_which which,
		  struct rlimit_value values[RLIMITS_MAX]);
/* Lowers the limit of this process, hard and soft. A lower hard limit of the host stays. */
int rlimit_lower(int resource, uint64_t value);
#endif
