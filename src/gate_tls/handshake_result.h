/* SPDX-License-Identifier: Apache-2.0 */
/* Evaluates a finished handshake. */
#ifndef BRIG_GATE_TLS_HANDSHAKE_RESULT_H
#define BRIG_GATE_TLS_HANDSHAKE_RESULT_H

#include <openssl/ssl.h>
#include <stdbool.h>

#include "net/gate_messages.h"

/* It is done: is the peer the expected one, and is the protocol HTTP/1.1? */
bool handshake_is_valid(const SSL *ssl);
/* Why it failed, or is not valid. */
enum gate_cause handshake_failure_cause(const SSL *ssl);
#endif
