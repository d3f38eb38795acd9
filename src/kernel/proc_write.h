/* SPDX-License-Identifier: Apache-2.0 */
/* A process's own files: uid_map and the like. */
#ifndef BRIG_KERNEL_PROC_WRITE_H
#define BRIG_KERNEL_PROC_WRITE_H

#include <sys/types.h>

/* Writes to /proc/PID/FILE, in one call. 0 or -errno. */
int proc_write(pid_t pid, const char *file, const char *text);
#endif
