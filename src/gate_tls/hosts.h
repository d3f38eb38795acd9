/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hosts whose TLS is opened: the certificate that the gate presents to the cell for each, and
 * the proof that it requires from the host.
 */
#ifndef BRIG_GATE_TLS_HOSTS_H
#define BRIG_GATE_TLS_HOSTS_H

#include <openssl/ssl.h>

#include "gate/tls_opener.h"

/* The one application protocol (ALPN): the gate can read HTTP/1.1. */
#define TLS_ONE_PROTOCOL "http/1.1"

struct tls_host {
	char name[NET_NAME_MAX + 1];
	SSL_CTX *server; /* owned: towards the cell */
	SSL_CTX *client; /* owned: towards the host */
};

struct tls_hosts {
	struct tls_host list[GATE_CREDENTIALS_MAX];
	unsigned count;
	BIO_METHOD *wires; /* owned */
};

extern const struct tls_opener tls_opener;

/* NULL: no host of that name. */
const struct tls_host *tls_host_find(const struct gate *gate, const char *name);

/* Contexts of both kinds: ssl_context.c. NULL: no memory, or an error of OpenSSL. */
SSL_CTX *tls_server_context(struct tls_host *host);
SSL_CTX *tls_client_context(X509_STORE *trusted);
/* Sets the only peer that a client accepts. */
bool tls_name_peer(SSL *ssl, const char *name);
/* The authorities in a PEM text; NULL: it has none, or is not valid PEM. */
X509_STORE *tls_store_parse(const char *text, size_t size);
#endif
