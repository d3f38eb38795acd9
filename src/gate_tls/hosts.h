/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hosts whose TLS is opened: the certificate that the gate presents to the cell for each, and
 * the proof that it requires from the host.
 */
#ifndef BRIG_GATE_TLS_HOSTS_H
#define BRIG_GATE_TLS_HOSTS_H

#include <openssl/ssl.h>

#include "gate/tls/tls_opener.h"

struct tls_host {
	char name[NET_NAME_MAX + 1];
	SSL_CTX *server; /* owned: towards the cell */
	SSL_CTX *client; /* owned: towards the host */
};

struct tls_hosts {
	struct tls_host list[GATE_CREDENTIALS_MAX];
	unsigned count;
};

extern const struct tls_opener tls_opener;

/* NULL: no host of that name. */
const struct tls_host *tls_host_find(const struct gate *gate, const char *name);

/*
 * For the end towards the cell, which must ask for this host; has no certificate yet. NULL: no
 * memory, or an error of OpenSSL.
 */
SSL_CTX *tls_host_context(struct tls_host *host);
#endif
