/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenSSL makes much of what it needs when it is first asked for. After the seal it may be too late
 * for that; so everything is done once before: a handshake of our own with each version, and a
 * certificate that each of the stores has to refuse.
 */
#ifndef BRIG_GATE_TLS_TRIAL_HANDSHAKE_H
#define BRIG_GATE_TLS_TRIAL_HANDSHAKE_H

#include "gate_tls/hosts.h"

/* Also a proof: what the cell is shown is trusted by who trusts `authority`. 0 or -EIO. */
int trial_handshakes(const struct tls_hosts *hosts, X509 *authority);
#endif
