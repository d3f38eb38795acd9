/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files of the probe: the temporary child, and one function for each attempt. */
#ifndef BRIG_KERNEL_PROBE_PROBE_INTERNAL_H
#define BRIG_KERNEL_PROBE_PROBE_INTERNAL_H

#include <stdint.h>

#include "kernel/cgroup/cgroup.h"
#include "kernel/probe/probe.h"

/* The report of the child at its end. */
struct probe_note {
	int32_t errnum;              /* 0: it worked */
	char what[44];               /* the call that failed */
	int32_t values[PROBE_CALLS]; /* further findings of the attempt */
};

struct probe_attempt {
	uint64_t namespaces;  /* CLONE_NEW* that the child is born in */
	uint32_t first_id;    /* not 0: as root, two ids from here on; else the caller's own */
	struct cgroup *group; /* to start in; NULL: none */
	/* Runs in the child, async-signal-safe. 0 or -errno. NULL: starting is enough. */
	int (*inside)(const struct probe_attempt *attempt, struct probe_note *note);
};

/* 0 or -errno, with ret->what. -ETIMEDOUT: it hung; -ECANCELED: it was killed. */
int probe_attempt(const struct probe_attempt *attempt, struct probe_note *ret);

/* Records the current step; returns r: `r = probe_step(note, "unshare", r)`. */
int probe_step(struct probe_note *note, const char *what, int r);

/* probe_namespaces.c */
int probe_nested_userns(const struct probe_attempt *attempt, struct probe_note *note);
int probe_pid_one(const struct probe_attempt *attempt, struct probe_note *note);
int probe_loopback(const struct probe_attempt *attempt, struct probe_note *note);
int probe_hostname(const struct probe_attempt *attempt, struct probe_note *note);
int probe_time(const struct probe_attempt *attempt, struct probe_note *note);

/* probe_mounts.c */
int probe_private(const struct probe_attempt *attempt, struct probe_note *note);
int probe_rootfs(const struct probe_attempt *attempt, struct probe_note *note);
int probe_overlay(const struct probe_attempt *attempt, struct probe_note *note);
int probe_proc(const struct probe_attempt *attempt, struct probe_note *note);

/*
 * probe_seals.c. values[0]: Landlock's ABI; whether WAIT_KILLABLE exists; whether keyrings are
 * missing.
 */
int probe_caps(const struct probe_attempt *attempt, struct probe_note *note);
int probe_nnp(const struct probe_attempt *attempt, struct probe_note *note);
int probe_landlock(const struct probe_attempt *attempt, struct probe_note *note);
int probe_seccomp(const struct probe_attempt *attempt, struct probe_note *note);
int probe_notify(const struct probe_attempt *attempt, struct probe_note *note);
int probe_keyring(const struct probe_attempt *attempt, struct probe_note *note);

/* probe_calls.c. values[enum probe_call]: 0 or an errno. */
int probe_calls(const struct probe_attempt *attempt, struct probe_note *note);

/* probe_cgroup.c: all three layers at once. */
void probe_cgroup(struct cgroup_manager *groups, const struct probe_attempt *base,
		  struct probe_finding layers[LAYER_COUNT]);

/* probe_host.c */
void probe_host(struct probe_host *ret);

/* probe_repair.c: fills finding->repair of a layer that is not ok, if it is empty. */
void probe_repair(const struct probe_host *host, enum layer layer, struct probe_finding *finding);
void probe_repair_call(const struct probe_host *host, enum probe_call call,
		       struct probe_finding *finding);
#endif
