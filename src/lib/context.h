/* SPDX-License-Identifier: Apache-2.0 */
/* The state that a program keeps between runs: its directories, and the host's cgroups. */
#ifndef BRIG_LIB_CONTEXT_H
#define BRIG_LIB_CONTEXT_H

#include <stdbool.h>

#include "base/files/file_memory.h"
#include "broker_client/broker_client.h"
#include "kernel/cgroup/cgroup.h"
#include "policy/policy.h"
#include "runtime/runtime.h"

struct call_watch;
struct choice_memory;
struct warm;

struct brig_context {
	char *config_dir;               /* owned; NULL: none */
	char *cache_dir;                /* owned; NULL: no cache */
	struct version_memory versions; /* of the languages that were used */
	struct policy_source policies;
	struct runtime_source runtimes;
	struct broker broker; /* when `brokered`: has the privileges that we lack */
	bool brokered;
	struct cgroup_manager *groups; /* owned */
	struct watchdog *watchdog;     /* owned */
	struct choice_memory *choices; /* owned: what was found out about providers; or NULL */
	struct file_memory checked_files;
	struct warm *warm; /* owned: cells made ahead; NULL: none wanted */
	/* owned: brig-gate, to be started, and the one that opens TLS; -1: not made yet */
	int gate_programs[2];
	const struct call_watch
		*watch; /* borrowed: watches the calls of its runs; NULL: they are not watched */
	/* borrowed: may hold the input files of the request that is started now; or NULL */
	struct block *shared;
	int audit;        /* owned: the record of all runs; -1: none */
	char *audit_file; /* owned: its path */
	bool swept;       /* the remains of dead processes were removed */
	bool hurried;     /* see context_hurry() */
};
/* From now on the broker does what only root may do; the caller still owns the connection. */
void context_use_broker(struct brig_context *context, const struct broker *broker);
/*
 * The caller's thread has other work: a start does not wait for a cell, nor an end for the kernel;
 * brig_context_fd() is readable when they need a step.
 */
int context_hurry(struct brig_context *context, struct brig_error *err);
/*
 * Called when a cell that was made ahead is ready, or will not be. Any step of a run, and any
 * start, may find that out: brig_context_fd() is not readable for it then.
 */
void context_on_cells(struct brig_context *context, void (*on_cells)(void *user), void *user);
/* Device nodes for one cell: an fd, or -errno. */
int context_devices(const struct brig_context *context);
/* Is a cell for such a request being made, while none is ready? */
bool context_worth_waiting(struct brig_context *context, const struct brig_request *request);
/* Begins to make cells for such requests, without waiting; does nothing where that fails. */
void context_begin_warm(struct brig_context *context, const struct brig_request *like);
/* Start-up is recovery: removes what dead processes have left behind. Once. */
void context_sweep(struct brig_context *context, const struct provider *provider);
#endif
