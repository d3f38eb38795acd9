/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenSSL initializes much of what it needs on first use. After the seal that may be impossible; so
 * everything is done once before: a handshake with ourselves in each version, and a certificate
 * that each of the stores has to refuse.
 */
#ifndef BRIG_GATE_TLS_TRIAL_HANDSHAKE_H
#define BRIG_GATE_TLS_TRIAL_HANDSHAKE_H

#include "gate_tls/hosts.h"

/*
 * Also a proof: a client that trusts `authority` accepts the certificates that the cell will see. 0
 * or -EIO.
 */
int trial_handshakes(const struct tls_hosts *hosts, X509 *authority);
#endif
