/* SPDX-License-Identifier: Apache-2.0 */
/* Deadlines and usage while a cell runs. */
#ifndef BRIG_RUN_WATCH_H
#define BRIG_RUN_WATCH_H

#include "kernel/cgroup/cgroup.h"
#include "run/facts.h"
#include "run/spec.h"
#include "run/watch_proc.h"

struct watch {
	const struct spec *spec;
	struct cgroup *group; /* borrowed; NULL: none */
	int sandbox;          /* borrowed: the tmpfs; -1: none */
	int proc;             /* borrowed: the cell's /proc; -1: none */
	int sockets;          /* borrowed: where no group counts: its sockstat; -1: none */
	pid_t init;           /* brig-init, by the warden's numbers; 0: not known */
	uint64_t start_ns;
	uint64_t disk_base_bytes; /* what the skeleton took */
	uint64_t inodes_base;
	uint64_t cpu_base_ns;      /* what making the cell ahead took, or runs before this one */
	uint64_t refusals_base;    /* of forks */
	struct proc_memory memory; /* who was seen in /proc */
	unsigned age;              /* the older, the more it yields to younger ones */
	uint64_t used_before_ns;   /* makes it older than it is */
	bool counted;              /* the group's figures are all that is needed */
};

void watch_start(struct watch *watch, uint64_t now_ns);
/*
 * A cell that was made ahead, or that another run was in: what was used up to now does not count.
 * Returns the processor time since it was last called, in whatever way that was counted.
 */
uint64_t watch_rebase(struct watch *watch, struct facts *facts);
void watch_done(struct watch *watch);
/* Its weight, and nothing else, is as if it had used so much processor time already. */
void watch_used_before(struct watch *watch, uint64_t cpu_ns);
/* Looks at everything once; updates the facts; the ending that is due, or ENDING_NONE. */
enum ending watch_look(struct watch *watch, uint64_t now_ns, struct facts *facts);
/* Nobody looks for a while: closes what is kept open for that. */
void watch_rest(struct watch *watch);
/* When to look next, absolute. */
uint64_t watch_next_ns(const struct watch *watch, uint64_t now_ns, const struct facts *facts);
/* "memory=cgroup2 processes=cgroup2 ..." */
void watch_means(const struct spec *spec, const char *cgroup_means, char *text, size_t size);
#endif
