/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's program (src/agent), as it was built. */
#ifndef BRIG_FRAMED_AGENT_IMAGE_H
#define BRIG_FRAMED_AGENT_IMAGE_H

#include <stddef.h>

extern const char agent_image[];
extern const size_t agent_image_size;
#endif
