/* SPDX-License-Identifier: Apache-2.0 */
/* What a program keeps between runs: where data lies, and what the host's cgroups are. */
#ifndef BRIG_LIB_CONTEXT_H
#define BRIG_LIB_CONTEXT_H

#include <stdbool.h>

#include "broker_client/broker_client.h"
#include "kernel/cgroup/cgroup.h"
#include "policy/policy.h"
#include "runtime/runtime.h"

struct call_watch;
struct warm;

struct brig_context {
	char *config_dir;               /* owned; NULL: none */
	char *cache_dir;                /* owned; NULL: no cache */
	struct version_memory versions; /* of the languages that were used */
	struct policy_source policies;
	struct runtime_source runtimes;
	struct broker broker; /* when `brokered`: who has the privileges that we lack */
	bool brokered;
	struct cgroup_manager *groups; /* owned */
	struct warm *warm;             /* owned: cells made ahead; NULL: none wanted */
	/* owned: brig-gate, to be started, and the one that opens TLS; -1: not made yet */
	int gate_programs[2];
	const struct call_watch
		*watch; /* borrowed: who watches the calls of its runs; NULL: nobody */
	/* borrowed: what input files of the request that is started now may lie in; or NULL */
	struct block *shared;
	int audit;        /* owned: the record of all runs; -1: none */
	char *audit_file; /* owned: where that is */
	bool swept;       /* what the dead left behind was looked for */
	bool hurried;     /* see context_hurry() */
};
/* From now on what only root may do is asked for there; the line stays the caller's. */
void context_use_broker(struct brig_context *context, const struct broker *broker);
/*
 * Others wait for the caller's thread: starts do not wait for a cell, and ends not for the kernel;
 * brig_context_fd() tells when there is something to do about them.
 */
int context_hurry(struct brig_context *context, struct brig_error *err);
/* Device nodes for one cell: an fd, or -errno. */
int context_devices(const struct brig_context *context);
/* Is a cell for such a request in the making, while none is ready? */
bool context_worth_waiting(struct brig_context *context, const struct brig_request *request);
/* Begins to make cells for such requests, and does not wait for them; nothing where it cannot. */
void context_begin_warm(struct brig_context *context, const struct brig_request *like);
/* Start-up is recovery: removes what the dead have left behind. Once. */
void context_sweep(struct brig_context *context, const struct provider *provider);
#endif
