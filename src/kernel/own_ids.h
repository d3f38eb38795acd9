/* SPDX-License-Identifier: Apache-2.0 */
/* The ids of a user namespace in which cells are made by somebody who is nobody outside of it. */
#ifndef BRIG_KERNEL_OWN_IDS_H
#define BRIG_KERNEL_OWN_IDS_H

#include <sys/types.h>

/*
 * `proc` is the directory in /proc of a process that has just made its namespace: in it, 0 is
 * `id`, and the ids of cells (idrange.h) are themselves. There are no others, root's above all.
 */
int own_ids_map(int proc, uid_t id);
#endif
