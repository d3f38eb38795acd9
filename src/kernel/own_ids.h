/* SPDX-License-Identifier: Apache-2.0 */
/* The ids of the user namespace in which a process without rights on the host makes cells. */
#ifndef BRIG_KERNEL_OWN_IDS_H
#define BRIG_KERNEL_OWN_IDS_H

#include <sys/types.h>

/*
 * `proc` is the directory in /proc of a process that has just made its namespace: in it, 0 is `id`,
 * and the ids of cells (idrange.h) map to themselves. There are no others, especially not root's.
 */
int own_ids_map(int proc, uid_t id);
#endif
