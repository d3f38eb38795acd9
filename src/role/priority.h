/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everybody waits for a role that waits for the processor, so roles come before the programs of the
 * cells: by weight where the user may (root), and with short slices everywhere.
 */
#ifndef BRIG_ROLE_PRIORITY_H
#define BRIG_ROLE_PRIORITY_H

/*
 * Of this process, which has just begun a session. Its children are as they would be without: the
 * kernel resets nice values below 0 and slices (SCHED_FLAG_RESET_ON_FORK). What the host does not
 * give is done without.
 */
void priority_raise(void);
#endif
