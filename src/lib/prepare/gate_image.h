/* SPDX-License-Identifier: Apache-2.0 */
/* The gate's programs (src/gate, src/gate_tls), as they were built. */
#ifndef BRIG_LIB_PREPARE_GATE_IMAGE_H
#define BRIG_LIB_PREPARE_GATE_IMAGE_H

#include <stddef.h>

extern const char gate_image[];
extern const size_t gate_image_size;
extern const char gate_tls_image[];
extern const size_t gate_tls_image_size;
#endif
