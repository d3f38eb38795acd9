/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks a certificate and its key before they are used, so that faults are reported at the start.
 */
#ifndef BRIG_HTTP_TLS_PAIR_H
#define BRIG_HTTP_TLS_PAIR_H

#include <time.h>

#include "base/error.h"
#include "http_tls/endpoint.h"

/* Do they belong together, and are they valid now? The names are for the messages. */
int pair_check(const struct endpoint_texts *texts, const char *certificate_name,
	       const char *key_name, time_t *ret_expires, struct brig_error *err);
#endif
