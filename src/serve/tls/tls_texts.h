/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A certificate and its key, on their way to the program with OpenSSL: both texts in one sealed
 * memory file, with a NUL in between. An empty file: TCP is in clear.
 */
#ifndef BRIG_SERVE_TLS_TEXTS_H
#define BRIG_SERVE_TLS_TEXTS_H

#include <stdbool.h>

#include "base/error.h"
#include "http_tls/endpoint.h"
#include "serve/config.h"

#define TLS_TEXTS_MAX ((2 << 20) + 1)

/* The descriptor, or -errno. */
int tls_texts_block(const struct serve_config *config, struct brig_error *err);
/* Into the bytes of such a file. false: it is empty. */
bool tls_texts_split(const char *data, size_t size, struct endpoint_texts *ret);
#endif
