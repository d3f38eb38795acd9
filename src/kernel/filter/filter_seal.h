/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The filter by which a process of brig's own limits itself: a list of the calls that it may make,
 * each with its reason. Any other call kills it: a process that makes one is compromised.
 */
#ifndef BRIG_KERNEL_FILTER_FILTER_SEAL_H
#define BRIG_KERNEL_FILTER_FILTER_SEAL_H

#include "kernel/filter/filter.h"

struct sealed_call {
	const char *name;
	unsigned users; /* bits of the processes that may make it */
	const char *reason;
	/* All of them must hold, else the call kills as well; NULL: no condition. */
	const struct filter_test *tests;
	uint8_t tests_count; /* 0: one, if there are tests */
};

/* Conditions that several processes need. */
extern const struct filter_test
	seal_not_executable; /* mmap, mprotect: the next need of an intruder */
extern const struct filter_test seal_names_memory; /* prctl: the C library names its memory */
/* tgkill: abort() of this process. Its id is filled in when the filter is made. */
extern const struct filter_test seal_of_itself;

/* The first entry for this call and user; NULL: not allowed. */
const struct sealed_call *sealed_call_find(const struct sealed_call *calls, size_t count,
					   unsigned user, const char *name);
/* Loads the filter of this user. */
int filter_seal(const struct sealed_call *calls, size_t count, unsigned user,
		struct brig_error *err);
#endif
