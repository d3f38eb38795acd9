/* The gate's program (src/gate), as it was built. */
#ifndef BRIG_LIB_GATE_IMAGE_H
#define BRIG_LIB_GATE_IMAGE_H

#include <stddef.h>

extern const char gate_image[];
extern const size_t gate_image_size;
#endif
