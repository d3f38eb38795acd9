/* SPDX-License-Identifier: Apache-2.0 */
/* brig-init as a program of its own (src/cell_init), as it was built. */
#ifndef BRIG_LIB_WARM_CELL_INIT_IMAGE_H
#define BRIG_LIB_WARM_CELL_INIT_IMAGE_H

#include <stddef.h>

extern const char cell_init_image[];
extern const size_t cell_init_image_size;
#endif
