/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The places of a cell for Landlock, the same with every provider. Directories that are mounted
 * for writing come in addition.
 */
#ifndef BRIG_RUN_SPEC_LANDLOCK_PLACES_H
#define BRIG_RUN_SPEC_LANDLOCK_PLACES_H

#include "kernel/landlock.h"

#define LANDLOCK_PLACES_MAX 64 /* of both */
#define LANDLOCK_FIXED      5
extern const struct landlock_place landlock_fixed[LANDLOCK_FIXED];
#endif
