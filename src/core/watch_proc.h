/* What the processes of a cell use, summed from the cell's own /proc: for hosts without cgroups. */
#ifndef BRIG_CORE_WATCH_PROC_H
#define BRIG_CORE_WATCH_PROC_H

#include <stdint.h>

struct proc_usage {
	uint64_t memory_bytes; /* anonymous and shared memory, resident */
	uint64_t tasks;
	uint64_t cpu_ns; /* of those alive, and of the children that they have waited for */
};

/* `proc` is a directory fd of the cell's /proc. Never fails: what cannot be read counts as 0. */
void proc_usage(int proc, struct proc_usage *ret);
#endif
