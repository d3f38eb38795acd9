/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One end of TLS: a network socket on one side, a socket with the decrypted content on the other.
 */
#ifndef BRIG_GATE_TLS_TLS_END_H
#define BRIG_GATE_TLS_TLS_END_H

#include "gate/tls/tls_opener.h"

/* As in struct tls_opener. */
int tls_end_accept(struct gate *gate, const struct tls_end_options *options, struct tls_end **ret,
		   int *plain);
int tls_end_connect(struct gate *gate, const struct tls_end_options *options, struct tls_end **ret,
		    int *plain);
void tls_end_follow(struct tls_end *end, const struct tls_end *other);
void tls_end_free(struct tls_end *end, bool reset);
#endif
