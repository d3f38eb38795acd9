/* SPDX-License-Identifier: Apache-2.0 */
/* The usage of a cell's processes, summed from the cell's own /proc: for hosts without cgroups. */
#ifndef BRIG_RUN_WATCH_WATCH_PROC_H
#define BRIG_RUN_WATCH_WATCH_PROC_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct proc_usage {
	uint64_t memory_bytes; /* anonymous and shared memory, resident or swapped, page tables */
	uint64_t tasks;
	uint64_t
		/* of living processes, and of dead ones as far as they were seen or waited for */
		cpu_ns;
};

/* A process at the last scan; times in clock ticks. */
struct proc_seen {
	uint64_t pid, start;  /* together they are unique: a pid may be reused */
	uint64_t own, waited; /* its own time; that of children it has waited for */
};

/*
 * The kernel forgets the time of a child that no process waits for, as when its parent ignores
 * SIGCHLD (getrusage(2): only children that were waited for count). So every scan remembers its
 * processes: the time of a process that is gone at the next scan, and that appears in no parent's
 * figures, is added to `lost`. Zero-initialise; owns `seen`.
 */
struct proc_memory {
	struct proc_seen *seen; /* owned, sorted by pid */
	size_t count;
	/* ticks of processes gone at the last scan: a parent may still show them */
	uint64_t missing;
	uint64_t lost; /* ticks that no living process shows any more */
};

/*
 * `proc` is a directory fd of the cell's /proc; `init` is brig-init's pid in the caller's
 * namespace, where it is a child of the caller, or 0. Never fails: figures that cannot be read
 * count as 0.
 */
void proc_usage(int proc, pid_t init, struct proc_memory *memory, struct proc_usage *ret);
void proc_memory_done(struct proc_memory *memory);
#endif
