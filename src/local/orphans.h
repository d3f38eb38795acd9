/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that outlive the program, where no pid namespace ends them. */
#ifndef BRIG_LOCAL_ORPHANS_H
#define BRIG_LOCAL_ORPHANS_H

/* Kills and reaps every descendant of this process, which is their subreaper; bounded in time. */
void orphans_kill(void);
#endif
