/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All clients wait for a role that waits for the processor, so roles have priority over the
 * programs of the cells: by weight where the user may set it (root), and with short slices
 * everywhere.
 */
#ifndef BRIG_ROLE_PRIORITY_H
#define BRIG_ROLE_PRIORITY_H

/*
 * Raises the priority of this process, which has just begun a session. Its children have the usual
 * one: the kernel resets nice values below 0 and slices (SCHED_FLAG_RESET_ON_FORK:
 * sched_setattr(2)). On hosts that do not support this, it does nothing.
 */
void priority_raise(void);
#endif
