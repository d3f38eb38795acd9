/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A watchdog for the threads that serve cells. A program can hold a kernel lock that such a thread
 * needs: the lock of its memory, of a file or directory of its cell, of a pipe. If the program also
 * sees to it that the holder gets no processor, every other cell waits with that thread. So a
 * thread declares which cell it works for; another one watches it, and kills a cell that keeps it
 * blocked.
 *
 * The time counts while the thread sleeps in the kernel. A thread that is ready to run, and only
 * gets no processor, is not blocked: a busy host kills nothing.
 */
#ifndef BRIG_RUN_WATCHDOG_WATCHDOG_H
#define BRIG_RUN_WATCHDOG_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cgroup;

/* How long a cell may keep a thread blocked. */
#define WATCHDOG_PATIENCE_MS 250u

/* How long a cell has kept threads blocked. Zero: not at all. The watchdog's own. */
struct watchdog_account {
	unsigned looks;   /* at which one was blocked; time without any takes them back */
	uint64_t look_ns; /* the last one */
	bool killed;
};

struct watchdog;

/* Work for a cell. The first three are the caller's to set, and hold until it has left. */
struct watchdog_section {
	struct watchdog_account *account; /* NULL: work for no cell, such as a callback */
	int pidfd;                        /* the first process of the cell */
	struct cgroup *group;             /* NULL: none */

	/* The watchdog's own. */
	struct watchdog *dog;
	pid_t thread;
	bool seen;      /* at the last look */
	unsigned epoch; /* of the watchdog: another one in a forked child */
	struct watchdog_section *outer;
	struct watchdog_section *next, **link;
};

/* Its thread is started with the first section. NULL: no memory. */
struct watchdog *watchdog_new(void);
/* All sections have been left. NULL is fine. */
void watchdog_free(struct watchdog *dog);
/*
 * The calling thread works for this cell until it leaves. Sections of a thread can be nested: the
 * innermost counts. NULL: nothing is watched.
 */
void watchdog_enter(struct watchdog *dog, struct watchdog_section *section);
/* True: the cell has been killed, in this section or before. */
bool watchdog_leave(struct watchdog_section *section);
#endif
