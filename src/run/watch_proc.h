/* SPDX-License-Identifier: Apache-2.0 */
/* What the processes of a cell use, summed from the cell's own /proc: for hosts without cgroups. */
#ifndef BRIG_RUN_WATCH_PROC_H
#define BRIG_RUN_WATCH_PROC_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_usage {
	uint64_t memory_bytes; /* anonymous and shared memory, resident or swapped, page tables */
	uint64_t tasks;
	uint64_t
		cpu_ns; /* of those alive, and of the dead as far as they were seen or waited for */
};

/* A process as the last look saw it, in clock ticks. */
struct proc_seen {
	uint64_t pid, start;  /* together they are unique: a number may come again */
	uint64_t own, waited; /* its own time; that of children that it has waited for */
};

/*
 * The kernel forgets the time of a child that nobody waits for, as when its parent ignores SIGCHLD.
 * So every look remembers who was there: whoever is gone by the next, and turns up in nobody's
 * figures, is added to what was lost. Zero-initialise; owns `seen`.
 */
struct proc_memory {
	struct proc_seen *seen; /* owned, sorted by pid */
	size_t count;
	uint64_t missing; /* ticks of those gone at the last look: a parent may still show them */
	uint64_t lost;    /* ticks that no living process shows any more */
};

/*
 * `proc` is a directory fd of the cell's /proc; `init` is brig-init as the caller numbers it, a
 * child of the caller's, or 0. Never fails: what cannot be read counts as 0.
 */
void proc_usage(int proc, pid_t init, struct proc_memory *memory, struct proc_usage *ret);
void proc_memory_done(struct proc_memory *memory);
#endif
