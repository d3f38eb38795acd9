/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One control group per cell, behind one interface: cgroup v2, v1, a scope of the user's systemd,
 * or none. The manager finds out once what the host supports; a cell's group is made, joined at
 * birth, watched, killed, removed.
 *
 * A pid is never written to join a group: that stalls for an RCU grace period (8-15 ms). On v2 the
 * child is born there (CLONE_INTO_CGROUP, since Linux 5.7); on v1 the child writes "0" to each
 * tasks file itself.
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
	uint64_t processes;      /* including brig-init, which the caller has added */
	uint64_t cpu_millicores; /* 0: do not limit */
};

struct cgroup_usage {
	bool has_memory, has_processes, has_cpu;
	uint64_t memory_peak_bytes;
	uint64_t sockets_bytes;    /* current, where it is not part of the memory: v1 */
	uint64_t memory_now_bytes; /* v2; v1 keeps the peak itself */
	uint64_t processes_peak;   /* 0 when the kernel does not report it */
	uint64_t processes_now;
	uint64_t cpu_ns;
	uint64_t oom_kills; /* processes killed for memory */
	bool oom_outside; /* v2: and not by this group's limit, but by one above, or by the host */
	uint64_t fork_refusals; /* forks refused by pids.max */
};

struct cgroup_ops; /* v2, v1, systemd scope, none: one table each */
struct cgroup_manager;
struct cgroup;

struct cgroup_options {
	const char *root; /* NULL: /sys/fs/cgroup; tests pass a fake tree */
	const char *self; /* NULL: /proc/self/cgroup; likewise */
	bool no_systemd;  /* never ask systemd for a scope */
	bool disabled;    /* behave as on a host without cgroups (BRIG tests) */
};

/* Never fails for lack of cgroups: then the manager's kind is "none" and layers are 0. */
int cgroup_manager_new(const struct cgroup_options *options, struct cgroup_manager **ret,
		       struct brig_error *err);
void cgroup_manager_free(struct cgroup_manager *manager);
const char *cgroup_manager_means(
	const struct cgroup_manager *manager); /* "cgroup2", "cgroup1", "systemd-scope", "none" */
layer_set
cgroup_manager_layers(const struct cgroup_manager *manager); /* LAYER_CGROUP_* that it can give */
/* The process is root only in a user namespace of its own. */
void cgroup_manager_confine(struct cgroup_manager *manager);
/*
 * From now on cgroup_free() does not wait for the last processes: groups that cannot be removed are
 * tried again by cgroup_manager_tidy(), some at a time. True: some are left.
 */
void cgroup_manager_hurry(struct cgroup_manager *manager);
bool cgroup_manager_tidy(struct cgroup_manager *manager);
/* Can the limits of a group be changed? See cgroup_limit(). */
bool cgroup_manager_adjusts(const struct cgroup_manager *manager);
/* The directory of the groups, and why a controller is missing: for doctor. */
const char *cgroup_manager_where(const struct cgroup_manager *manager);
const char *cgroup_manager_why(const struct cgroup_manager *manager);

/* Removes groups whose creator is dead (killed before it could clean up). Returns how many. */
int cgroup_manager_sweep(struct cgroup_manager *manager);

/*
 * Makes a group of the same kind for another user, who may then make groups in it as if it were the
 * whole tree; process `pid` is put into it. One per manager. Its name is brig-<pid>-<start
 * time>-warden.
 */
int cgroup_delegate(struct cgroup_manager *manager, uid_t user, pid_t pid);
/* Tries once to remove it; true: nothing is left. */
bool cgroup_delegate_remove(struct cgroup_manager *manager);

/*
 * `name` is the run's id; the directory is brig-<pid>-<start time>-<id>, so that sweep recognises
 * it.
 */
int cgroup_new(struct cgroup_manager *manager, const char *name, const struct cgroup_limits *limits,
	       struct cgroup **ret, struct brig_error *err);
/* Changes the limits, before the program runs. -ENOTSUP: this group cannot have them. */
int cgroup_limit(struct cgroup *cgroup, const struct cgroup_limits *limits);
/* An fd for clone_args.cgroup, or -1 where the child joins by itself. Borrowed. */
int cgroup_clone_fd(const struct cgroup *cgroup);
/*
 * v1, when we are not the host's root: the process that joins has this id, and must open the tasks
 * files itself. 1: then join_fds are the directories; 0: they are the files.
 */
int cgroup_admit(struct cgroup *cgroup, uid_t id);
/*
 * v1, and v2 if the child was not born there: fds of the tasks files, to which the child writes
 * "0". Borrowed. Returns how many.
 */
int cgroup_join_fds(struct cgroup *cgroup, int fds[CGROUP_JOIN_MAX]);
/* The child has inherited them: closes ours. */
void cgroup_join_done(struct cgroup *cgroup);
/* Scope: the parent moves the stopped child into it. Other kinds do nothing and return 0. */
int cgroup_attach(struct cgroup *cgroup, pid_t pid, struct brig_error *err);
/*
 * An fd that poll()s POLLIN or POLLPRI when memory ran out; -1: none, read usage periodically.
 * Borrowed.
 */
int cgroup_event_fd(struct cgroup *cgroup, short *ret_events);
void cgroup_event_clear(struct cgroup *cgroup);
/*
 * Scope: call it while pid 1 of the cell still lives; systemd removes an empty group with its
 * counters.
 */
void cgroup_usage(struct cgroup *cgroup, struct cgroup_usage *ret);
/* Usage will not be read for a while: closes the files for it. The event fd stays. */
void cgroup_rest(struct cgroup *cgroup);
/*
 * SIGKILL to all processes in it; true when the kernel does it atomically (cgroup.kill, since Linux
 * 5.14), false: kill the pid namespace instead.
 */
bool cgroup_kill(struct cgroup *cgroup);
/*
 * All processes in it were killed: lifts the processor quota while they exit. A quota also holds
 * for exiting processes, and with one of a hundredth core that can take minutes.
 */
void cgroup_hurry(struct cgroup *cgroup);
/*
 * Its share of the processors relative to other groups: this part of the usual one (1: all of it).
 * Does nothing where groups have no processor time of their own.
 */
void cgroup_weigh(struct cgroup *cgroup, unsigned part);
/*
 * Removes it, retrying for a bounded time while the last processes leave; then frees. NULL is
 * allowed.
 */
void cgroup_free(struct cgroup *cgroup);

/*
 * The group of a process that a container daemon has put there: its usage can be read, and nothing
 * else. Its path must name `marker`, or else the process is not the daemon's: -ESRCH. *ret_layers:
 * the limits of the group that are as low as these. Free the group, then the manager.
 */
int cgroup_find(pid_t pid, const char *marker, const struct cgroup_limits *limits,
		struct cgroup_manager **ret_manager, struct cgroup **ret, layer_set *ret_layers);
#endif
