/* SPDX-License-Identifier: Apache-2.0 */
/* The program that asks in a cell (src/prober), as it was built. */
#ifndef BRIG_CHECK_PROBER_IMAGE_H
#define BRIG_CHECK_PROBER_IMAGE_H

#include <stddef.h>

extern const char prober_image[];
extern const size_t prober_image_size;
#endif
