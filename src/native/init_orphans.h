/* SPDX-License-Identifier: Apache-2.0 */
/* What outlives the program where there is no pid namespace to take it away. */
#ifndef BRIG_NATIVE_INIT_ORPHANS_H
#define BRIG_NATIVE_INIT_ORPHANS_H

#include "native/cell.h"

/* Kills every descendant, bounded in time. With a pid namespace: nothing to do. */
void orphans_kill(struct cell *cell);
#endif
