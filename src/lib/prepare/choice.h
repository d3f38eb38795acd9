/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which provider holds a run: the one that the request names, or the first of the policy's list
 * that this host can do now. A provider that the policy does not name is never chosen.
 */
#ifndef BRIG_LIB_PREPARE_CHOICE_H
#define BRIG_LIB_PREPARE_CHOICE_H

#include "kernel/probe/probe.h"
#include "lib/prepare/prepare.h"

/* The time that one provider may take to show that it works, and how long that is believed. */
#define CHOICE_PROBE_NS UINT64_C(5000000000)
#define CHOICE_AGE_NS   UINT64_C(60000000000)
/*
 * A trial that was slow is rare: others wait for the thread meanwhile. Not one that had not enough
 * time on a busy host: for an hour all runs would go to the next provider.
 */
#define CHOICE_SLOW_NS     UINT64_C(250000000)
#define CHOICE_SLOW_AGE_NS UINT64_C(3600000000000)

/* How long a finding is believed that took so long. */
uint64_t choice_age_ns(const struct probe_finding *found, uint64_t taken_ns);

struct choice {
	const struct policy *policy;
	const struct brig_request *request;
	enum purpose purpose;
};
/* -errno: none can be used; the error names each of them, and why. */
int choice_make(struct brig_context *context, const struct choice *choice,
		const struct provider **ret, struct brig_error *err);

/* The findings about providers that a context keeps: choice_memory.c. */
struct choice_memory;
void choice_memory_free(struct choice_memory *memory);
struct choice_finding {
	struct probe_finding found;
	layer_set lost; /* layers that the host lacks */
};
/* Tries the provider of the spec, unless that was done lately. -ENOMEM. */
int choice_find(struct brig_context *context, const struct spec *spec,
		const struct choice_finding **ret);
/* A run has ended as it should: its provider need not be tried for a while. */
void choice_worked(struct brig_context *context, const struct spec *spec);
#endif
