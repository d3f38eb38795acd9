/* SPDX-License-Identifier: Apache-2.0 */
/* The image of the broker (src/broker): the only role that is not this same program. */
#ifndef BRIG_SERVE_BROKER_IMAGE_H
#define BRIG_SERVE_BROKER_IMAGE_H

#include <stddef.h>

extern const char broker_image[];
extern const size_t broker_image_size;
#endif
