/* SPDX-License-Identifier: Apache-2.0 */
/* The image of the program with OpenSSL (src/tls_program). */
#ifndef BRIG_SERVE_TLS_IMAGE_H
#define BRIG_SERVE_TLS_IMAGE_H

#include <stddef.h>

extern const char tls_image[];
extern const size_t tls_image_size;
#endif
