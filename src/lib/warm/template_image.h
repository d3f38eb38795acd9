/* SPDX-License-Identifier: Apache-2.0 */
/* The template's own part of an interpreter (src/template), as it was built; empty: not built. */
#ifndef BRIG_LIB_WARM_TEMPLATE_IMAGE_H
#define BRIG_LIB_WARM_TEMPLATE_IMAGE_H

#include <stddef.h>

extern const char template_image[];
extern const size_t template_image_size;
#endif
