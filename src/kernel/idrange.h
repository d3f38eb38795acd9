/* SPDX-License-Identifier: Apache-2.0 */
/* Unique ids for every concurrent cell, when brig runs as root. */
#ifndef BRIG_KERNEL_IDRANGE_H
#define BRIG_KERNEL_IDRANGE_H

#include <stdint.h>

#include "base/error.h"

#define IDRANGE_FIRST 1879048192u /* 0x70000000 */
#define IDRANGE_COUNT 2000000u

/*
 * Reserves a free pair of host ids. They are held by the returned fd and free again when it closes,
 * however its holder ends. Returns the fd, or -errno.
 */
int idrange_take(uint32_t *first_id, struct brig_error *err);
#endif
