/* SPDX-License-Identifier: Apache-2.0 */
/* Watches the deadlines and the usage of a cell while it runs. */
#ifndef BRIG_RUN_WATCH_WATCH_H
#define BRIG_RUN_WATCH_WATCH_H

#include "kernel/cgroup/cgroup.h"
#include "run/spec/spec.h"
#include "run/watch/facts.h"
#include "run/watch/watch_proc.h"

struct limit_watch {
	const struct spec *spec;
	struct cgroup *group; /* borrowed; NULL: none */
	int sandbox;          /* borrowed: the tmpfs; -1: none */
	int proc;             /* borrowed: the cell's /proc; -1: none */
	int sockets;          /* borrowed: the cell's sockstat, where no group counts; -1: none */
	pid_t init;           /* brig-init, in the warden's pid namespace; 0: not known */
	uint64_t start_ns;
	uint64_t disk_base_bytes; /* used by the skeleton */
	uint64_t inodes_base;
	uint64_t cpu_base_ns;      /* used by making the cell ahead, or by earlier runs */
	uint64_t refusals_base;    /* of forks */
	struct proc_memory memory; /* the processes seen in /proc */
	unsigned age;              /* the older, the more it yields to younger runs */
	uint64_t used_before_ns;   /* counted for its age only */
	bool building;             /* a tool makes the cell, and does not become older by it */
	bool counted;              /* the group's figures suffice */
	bool waits;                /* the program has not begun, and its time is not counted */
	/* Its processes are those of a machine: only their processor time is the program's. */
	bool own_kernel;
};

void watch_start(struct limit_watch *watch, uint64_t now_ns);
/*
 * For a cell that was made ahead, or that had another run: the use up to now does not count.
 * Returns the processor time since the last call, however it was counted.
 */
uint64_t watch_rebase(struct limit_watch *watch, struct facts *facts);
void watch_done(struct limit_watch *watch);
/* Its weight, and nothing else, is as if it had already used this processor time. */
void watch_used_before(struct limit_watch *watch, uint64_t cpu_ns);
/* Checks everything once and updates the facts. Returns the ending that is due, or ENDING_NONE. */
enum ending watch_look(struct limit_watch *watch, uint64_t now_ns, struct facts *facts);
/* No checks for a while: closes the files that are kept open for them. */
void watch_rest(struct limit_watch *watch);
/* The time of the next check, absolute. */
uint64_t watch_next_ns(const struct limit_watch *watch, uint64_t now_ns, const struct facts *facts);
/* "memory=cgroup2 processes=cgroup2 ..." */
void watch_means(const struct spec *spec, const char *cgroup_means, char *text, size_t size);
#endif
