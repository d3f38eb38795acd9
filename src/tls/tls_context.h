/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The settings of every end of TLS: versions 1.2 and 1.3, only ciphers with authentication and
 * forward secrecy, no renegotiation, no compression, no resumption, HTTP/1.1 only.
 */
#ifndef BRIG_TLS_TLS_CONTEXT_H
#define BRIG_TLS_TLS_CONTEXT_H

#include <openssl/ssl.h>
#include <stdbool.h>

/* The one application protocol (ALPN). */
#define TLS_ONE_PROTOCOL "http/1.1"

/*
 * For servers; has no certificate yet. A client that offers only other protocols gets an alert if
 * `strict`, and no protocol otherwise; one without ALPN is accepted. NULL: no memory, or an error
 * of OpenSSL.
 */
SSL_CTX *tls_context_server(bool strict);
/* For clients, which accept only certificates of these authorities. NULL: as above. */
SSL_CTX *tls_context_client(X509_STORE *trusted);
/* Sets the only peer that a client accepts: a host's name, or its address. */
bool tls_name_peer(SSL *ssl, const char *name);
#endif
