/* SPDX-License-Identifier: Apache-2.0 */
/* New processes, from a program that may have threads: only async-signal-safe calls. */
#ifndef BRIG_KERNEL_PROCESS_H
#define BRIG_KERNEL_PROCESS_H

#include <stdint.h>

/*
 * clone3 where there is one (since Linux 5.3); else the old call, which knows all flags but the
 * control group (-1: none). The child has no exit signal: a host program's SIGCHLD and wait(-1)
 * never see it (wait(2), __WCLONE). Returns its pid, 0 in the child, or -errno.
 */
int process_clone(uint64_t flags, int cgroup, int *pidfd);
/*
 * Each signal does what it does by default: what the host program handled or ignored is nothing to
 * the program that will run. All signals must be blocked.
 */
int process_reset_signals(void);
/* The processor time of all children that were waited for, and of theirs. */
uint64_t process_children_cpu_ns(void);
#endif
