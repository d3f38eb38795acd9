/* SPDX-License-Identifier: Apache-2.0 */
/* The broker's program (src/broker), as it was built: a role that is not this same program. */
#ifndef BRIG_SERVE_BROKER_IMAGE_H
#define BRIG_SERVE_BROKER_IMAGE_H

#include <stddef.h>

extern const char broker_image[];
extern const size_t broker_image_size;
#endif
