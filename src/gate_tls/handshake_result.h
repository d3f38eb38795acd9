/* SPDX-License-Identifier: Apache-2.0 */
/* How a handshake has ended. */
#ifndef BRIG_GATE_TLS_HANDSHAKE_RESULT_H
#define BRIG_GATE_TLS_HANDSHAKE_RESULT_H

#include <openssl/ssl.h>
#include <stdbool.h>

#include "net/gate_messages.h"

/* It is done: is the other one who it must be, and are we to speak HTTP/1.1? */
bool handshake_is_valid(const SSL *ssl);
/* It is not good, or has failed: why. */
enum gate_cause handshake_failure_cause(const SSL *ssl);
#endif
