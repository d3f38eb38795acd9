/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One control group per cell, behind one interface: cgroup v2, v1, a scope of the user's systemd,
 * or none. The manager finds out once what the host gives; a cell's group is made, joined at
 * birth, watched, killed, removed.
 *
 * The way in is never "write a pid": that stalls for an RCU grace period (8-15 ms). On v2 the
 * child is born there (CLONE_INTO_CGROUP); on v1 the child writes "0" to each tasks file itself.
 */
#ifndef BRIG_KERNEL_CGROUP_CGROUP_H
#define BRIG_KERNEL_CGROUP_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "kernel/layers.h"

#define CGROUP_JOIN_MAX 6

struct cgroup_limits {
	uint64_t memory_bytes;   /* 0: do not limit */
	uint64_t processes;      /* brig-init counts as one: the caller has added it */
	uint64_t cpu_millicores; /* 0: do not limit */
};

struct cgroup_usage {
	bool has_memory, has_processes, has_cpu;
	uint64_t memory_peak_bytes;
	uint64_t sockets_bytes;    /* now, where that is not part of the memory: v1 */
	uint64_t memory_now_bytes; /* v2; v1 keeps the peak itself */
	uint64_t processes_peak;   /* 0 when the kernel does not tell */
	uint64_t processes_now;
	uint64_t cpu_ns;
	uint64_t oom_kills; /* processes killed for memory */
	bool oom_outside;   /* v2: and it was not this group's limit, but one above, or the host */
	uint64_t fork_refusals; /* forks refused by pids.max */
};

struct cgroup_ops; /* v2, v1, systemd scope, none: one table each */
struct cgroup_manager;
struct cgroup;

struct cgroup_options {
	const char *root; /* NULL: /sys/fs/cgroup; the tests hand a fake tree */
	const char *self; /* NULL: /proc/self/cgroup; likewise */
	bool no_systemd;  /* never ask systemd for a scope */
	bool disabled;    /* behave as on a host without cgroups (BRIG tests) */
};

/* Never fails for lack of cgroups: then the manager's means is "none" and layers are 0. */
int cgroup_manager_new(const struct cgroup_options *options, struct cgroup_manager **ret,
		       struct brig_error *err);
void cgroup_manager_free(struct cgroup_manager *manager);
const char *cgroup_manager_means(
	const struct cgroup_manager *manager); /* "cgroup2", "cgroup1", "systemd-scope", "none" */
layer_set
cgroup_manager_layers(const struct cgroup_manager *manager); /* LAYER_CGROUP_* that it can give */
/* Its user is root only in a user namespace of its own. */
void cgroup_manager_confine(struct cgroup_manager *manager);
/*
 * From now on cgroup_free() does not wait for the last processes: what cannot be removed is tried
 * again by cgroup_manager_tidy(), some groups at a time. True: there is something left.
 */
void cgroup_manager_hurry(struct cgroup_manager *manager);
bool cgroup_manager_tidy(struct cgroup_manager *manager);
/* Where groups are made, and why some controller is missing: for doctor. */
const char *cgroup_manager_where(const struct cgroup_manager *manager);
const char *cgroup_manager_why(const struct cgroup_manager *manager);

/* Removes groups whose maker is dead (killed before it could clean up). Returns how many. */
int cgroup_manager_sweep(struct cgroup_manager *manager);

/*
 * A group of the same kind for another user, who may then make groups in it as if it were all there
 * is; process `pid` is put into it. One per manager. The name is brig-<pid>-<start time>-warden.
 */
int cgroup_delegate(struct cgroup_manager *manager, uid_t user, pid_t pid);
/* One try to remove it; true: nothing is left. */
bool cgroup_delegate_remove(struct cgroup_manager *manager);

/* `name` is the run's id; the directory is brig-<pid>-<start time>-<id>, so that sweep can tell. */
int cgroup_new(struct cgroup_manager *manager, const char *name, const struct cgroup_limits *limits,
	       struct cgroup **ret, struct brig_error *err);
/* Other limits, before anything of the program runs. -ENOTSUP: this group cannot have them. */
int cgroup_limit(struct cgroup *cgroup, const struct cgroup_limits *limits);
/* An fd for clone_args.cgroup, or -1 where the child joins by itself. Borrowed. */
int cgroup_clone_fd(const struct cgroup *cgroup);
/*
 * v1, where we are not the host's root: whoever joins has this id, and must open the tasks files
 * itself. 1: then join_fds are the directories; 0: they are the files.
 */
int cgroup_admit(struct cgroup *cgroup, uid_t id);
/* v1, and v2 where it was not born there: fds of the tasks files, to which the child writes "0". Borrowed. Returns how many. */
int cgroup_join_fds(struct cgroup *cgroup, int fds[CGROUP_JOIN_MAX]);
/* The child has them: closes ours. */
void cgroup_join_done(struct cgroup *cgroup);
/* Scope: the parent puts the stopped child in. 0 and nothing to do elsewhere. */
int cgroup_attach(struct cgroup *cgroup, pid_t pid, struct brig_error *err);
/*
 * An fd that poll()s POLLIN or POLLPRI when memory ran out; -1: none, read usage from time to
 * time. Borrowed.
 */
int cgroup_event_fd(struct cgroup *cgroup, short *ret_events);
void cgroup_event_clear(struct cgroup *cgroup);
/*
 * Scope: ask while pid 1 of the cell still lives; systemd removes an empty group with its
 * figures.
 */
void cgroup_usage(struct cgroup *cgroup, struct cgroup_usage *ret);
/* Nobody will ask for a while: closes what is kept open for that. The event fd stays. */
void cgroup_rest(struct cgroup *cgroup);
/*
 * SIGKILL to all in it; true when the kernel does it in one go, false: kill the pid namespace
 * instead.
 */
bool cgroup_kill(struct cgroup *cgroup);
/*
 * All in it were killed: they may take as much of the processors as they need to die. A quota holds
 * for the dying too, and what is left of one of a hundredth core can take minutes.
 */
void cgroup_hurry(struct cgroup *cgroup);
/*
 * Its share of the processors beside other groups: this part of the usual one (1: all of it). Does
 * nothing where a group has no processor time of its own to share.
 */
void cgroup_weigh(struct cgroup *cgroup, unsigned part);
/*
 * Removes it, retrying for a bounded time while the last processes leave; then frees. NULL is
 * fine.
 */
void cgroup_free(struct cgroup *cgroup);
#endif
